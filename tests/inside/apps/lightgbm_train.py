"""LightGBM: ten trees on the device."""
import lightgbm
import numpy as np

rng = np.random.default_rng(7)
x = rng.random((20000, 20))
y = (x[:, 0] + x[:, 1] * x[:, 2] > 0.7).astype(int)
options = {"device": "gpu", "objective": "binary", "verbose": -1, "num_leaves": 31, "num_threads": 1,
           "gpu_use_dp": True, "seed": 7}
model = lightgbm.train(options, lightgbm.Dataset(x, y), 10)
print(f"{model.predict(x).sum():.4f}")
