"""tinygrad: ten training steps of a small network."""
import os

os.environ["DEV"] = "CL"
os.environ["CL"] = os.environ["TRAINING"] = "1"
from tinygrad import Tensor, nn

Tensor.manual_seed(7)


class Net:
    def __init__(self):
        self.a, self.b = nn.Linear(64, 128), nn.Linear(128, 10)

    def __call__(self, x):
        return self.b(self.a(x).relu())


net = Net()
optimiser = nn.optim.Adam(nn.state.get_parameters(net), lr=0.01)
x, y = Tensor.rand(128, 64).realize(), Tensor.randint(128, high=10).realize()
for step in range(10):
    optimiser.zero_grad()
    loss = net(x).sparse_categorical_crossentropy(y).backward()
    optimiser.step()
print(repr(float(loss.item())))
