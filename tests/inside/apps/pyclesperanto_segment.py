"""pyclesperanto: blobs are smoothed, thresholded and labelled."""
import numpy as np
import pyclesperanto as cle

cle.select_device(0)
rng = np.random.default_rng(7)
total = 0
for frame in range(4):
    image = cle.push(rng.random((16, 128, 128)).astype(np.float32))
    smooth = cle.gaussian_blur(image, sigma_x=2, sigma_y=2, sigma_z=1)
    labels = cle.connected_component_labeling(cle.threshold_otsu(smooth))
    total += int(cle.pull(labels).astype(np.int64).sum())
print(total)
