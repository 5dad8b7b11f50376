"""Asks for all digits that were not seen in training, 20 at once."""

from mindtorch.tools import mstorch_enable

import sys

import numpy as np
from mindspore_serving.client import Client
from sklearn.datasets import load_digits

images, labels = load_digits(return_X_y=True)
images, labels = images[1437:].reshape(-1, 8, 8).astype(np.float32), labels[1437:]
client = Client(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:5500", "digits", "classify")

answers = []
for start in range(0, len(images), 20):
    answers += client.infer([{"image": image} for image in images[start : start + 20]])
right = np.array([answer["label"] for answer in answers]) == labels
print(f"{len(answers)} answers, {right.mean():.0%} of them right")
print("the first:", int(answers[0]["label"]), f"share {float(answers[0]['share']):.2f}")
print("a wrong one:", client.infer({"image": images[0][:7]})["error"])
