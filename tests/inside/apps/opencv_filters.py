"""OpenCV: filters on UMat, thirty frames."""
import os

os.environ["OPENCV_OPENCL_DEVICE"] = ":CPU:"  # the default is a GPU
import cv2
import numpy as np

cv2.ocl.setUseOpenCL(True)
assert cv2.ocl.useOpenCL(), "OpenCV found no OpenCL"
cv2.setNumThreads(1)
rng = np.random.default_rng(7)
total = 0
for frame in range(30):
    image = cv2.UMat(rng.integers(0, 256, (480, 640, 3), dtype=np.uint8))
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    edges = cv2.Canny(cv2.GaussianBlur(grey, (7, 7), 1.5), 50, 150)
    small = cv2.resize(cv2.dilate(edges, None), (320, 240))
    total += int(small.get().astype(np.int64).sum())
del image, grey, edges, small
cv2.ocl.finish()
print(total)
