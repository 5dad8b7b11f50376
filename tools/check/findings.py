"""What `mindtorch check` looks for, and what it found."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..watchpoints.conditions import Place

__all__ = ["CHECKS", "Finding"]

CHECKS: dict[str, str] = {
    "unnormalised_inputs": "what the model is given is far from mean 0 and deviation 1",
    "labels_out_of_range": "class labels that the output has no place for, or targets outside 0..1",
    "same_data_each_step": "a loader with several batches, and every step gets the same one",
    "softmax_before_cross_entropy": "a loss that applies (log-)softmax or sigmoid is given "
    "probabilities, or one that needs logarithms is",
    "train_eval_preprocessing": "what the model is given in evaluation is distributed otherwise",
    "eval_mode_in_training": "dropout or batch norm are in evaluation mode while it is trained",
    "zero_gradients": "a parameter's gradient is zero, or missing, in every step",
    "dead_relu": "most units of a relu are zero for all examples of all steps",
    "missing_zero_grad": "gradients of the step before are added to those of this one",
    "not_in_optimizer": "a parameter has gradients, and no optimizer changes it",
    "frozen_parameters": "an optimizer has parameters that cannot change, or do not",
    "exploding_loss": "the loss is NaN or infinite, or a hundred times what it was",
    "learning_rate_too_high": "the loss rises while parameters change much in a step",
    "falling_loss_scale": "the loss scale falls without end",
}


@dataclass
class Finding:
    """Something that was found.

    Attributes:
        check: a name of `CHECKS`.
        evidence: the figures that show it, in words.
        place: the user's line.
        advice: what usually helps.
        series: numbers over steps, or counts of a histogram, for a plot; with `title`.
    """

    check: str
    evidence: str
    place: Place
    advice: str
    title: str = ""
    series: list[float] = field(default_factory=list)
