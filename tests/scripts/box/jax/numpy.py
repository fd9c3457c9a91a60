def mean(x):
    return x
