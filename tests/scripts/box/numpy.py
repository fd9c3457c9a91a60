"""What scripts/serve_rmm.py needs of NumPy."""

uint8 = "uint8"


class Equal:
    def __init__(self, is_equal):
        self.all = lambda: is_equal


class full:
    def __init__(self, length, value, dtype):
        self.content = length, value, dtype

    def __len__(self):
        return self.content[0]

    def __eq__(self, other):
        return Equal(self.content == other.content)
