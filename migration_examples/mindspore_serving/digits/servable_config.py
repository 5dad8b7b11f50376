"""What the servable `digits` offers: `classify` for images of 8 x 8 with values from 0 to 16."""

import numpy as np
from mindspore_serving.server import register

model = register.declare_model("digits.mindir", model_format="MindIR")


def enlarge(image):
    if image.shape != (8, 8):
        raise ValueError(f"an image has the shape (8, 8), not {image.shape}")
    return np.kron(image / 16, np.ones((4, 4))).astype(np.float32)[None]


def best(scores):
    shares = np.exp(scores - scores.max())
    return np.int32(scores.argmax()), np.float32(shares.max() / shares.sum())


@register.register_method(output_names=["label", "share"])
def classify(image):
    x = register.add_stage(enlarge, image, outputs_count=1)
    scores = register.add_stage(model, x, outputs_count=1)
    label, share = register.add_stage(best, scores, outputs_count=2)
    return label, share
