"""silx: SIFT key points of an image, and a median filter."""
import numpy as np
from silx.image import sift
from silx.opencl.medfilt import MedianFilter2D

rng = np.random.default_rng(7)
y, x = np.mgrid[0:256, 0:256]
image = (np.sin(x / 9) * np.cos(y / 7) + rng.random((256, 256)) / 9).astype(np.float32)
plan = sift.SiftPlan(template=image, devicetype="ALL")
points = [len(plan.keypoints(image)) for repeat in range(3)]
smooth = MedianFilter2D(image.shape, kernel_size=(3, 3), devicetype="ALL")(image)
print(points, repr(float(smooth.astype(np.float64).sum())))
