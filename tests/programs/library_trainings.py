"""Small programs of many libraries that are built on torch, as their own pages show them.

`library_program.py` runs one on either side; it has already decided what `torch` is.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset


def trained(
    model: Any, loss_of: Callable[[], Any], steps: int = 2, optimizer: Any = None
) -> dict[str, Any]:
    """Parameters as built, gradients of the first step, losses."""
    result: dict[str, Any] = {"built": {k: v.clone() for k, v in model.state_dict().items()}}
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for step in range(steps):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            named = [(n, p.grad) for n, p in model.named_parameters() if p.grad is not None]
            result["gradients"] = {name: gradient.clone() for name, gradient in named}
        optimizer.step()
        losses.append(loss.item())
    return result | {"losses": losses}


def clusters(count: int = 64) -> tuple[Any, Any]:
    """Points around three centres, and which centre each belongs to."""
    random = np.random.RandomState(0)
    labels = random.randint(0, 3, count)
    points = random.randn(count, 4) + labels[:, None]
    return torch.from_numpy(points.astype(np.float32)), torch.from_numpy(labels)


def perceptron() -> Any:
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))


def entropy(model: Any, labels: Any, *inputs: Any) -> Callable[[], Any]:
    """The loss of a classifier, to be computed again for each step."""
    return lambda: F.cross_entropy(model(*inputs), labels)


def batches(shuffle: bool = False) -> Any:
    return DataLoader(TensorDataset(*clusters()), batch_size=16, shuffle=shuffle)


# --- loops that train for their user -------------------------------------------------------------


def lightning() -> dict[str, Any]:
    import lightning as L
    from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
    from lightning.pytorch.loggers import CSVLogger

    class Classifier(L.LightningModule):
        def __init__(self, lr: float = 0.05) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.model = perceptron()

        def training_step(self, batch: Any, number: int) -> Any:
            loss = F.cross_entropy(self.model(batch[0]), batch[1])
            self.log("train_loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch: Any, number: int) -> None:
            self.log("val_loss", F.cross_entropy(self.model(batch[0]), batch[1]))

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=30)
            return [optimizer], [{"scheduler": schedule, "interval": "step"}]

    L.seed_everything(3)
    best = ModelCheckpoint(dirpath="checkpoints", monitor="val_loss")
    model = Classifier()
    trainer = L.Trainer(
        max_epochs=3, logger=CSVLogger("logs"), accelerator="cpu", gradient_clip_val=1.0,
        callbacks=[best, EarlyStopping("val_loss"), LearningRateMonitor()],
        accumulate_grad_batches=2, log_every_n_steps=1, enable_progress_bar=False,
    )  # fmt: skip
    trainer.fit(model, batches(shuffle=True), batches())
    again = Classifier.load_from_checkpoint(best.best_model_path)
    return {"end": model.state_dict(), "best": again.state_dict(), **trainer.callback_metrics}


def accelerate() -> dict[str, Any]:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = perceptron()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    model, optimizer, data, schedule = accelerator.prepare(
        model, optimizer, batches(shuffle=True), schedule
    )
    losses = []
    for points, labels in data:
        with accelerator.accumulate(model):
            loss = F.cross_entropy(model(points), labels)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()).mean().item())
    accelerator.save_state("state")
    accelerator.load_state("state")
    return {"losses": losses, "end": accelerator.unwrap_model(model).state_dict()}


def fastai() -> dict[str, Any]:
    from fastai.vision.all import CrossEntropyLossFlat, DataLoaders, Learner, accuracy
    from fastai.vision.all import DataLoader as Batches

    pairs = list(zip(*clusters(), strict=True))
    data = DataLoaders(Batches(pairs, bs=16), Batches(pairs, bs=16))
    learner = Learner(data, perceptron(), loss_func=CrossEntropyLossFlat(), metrics=accuracy)
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(2, 1e-2)
    kept = learner.recorder
    return {"values": [list(v) for v in kept.values], "losses": [float(v) for v in kept.losses]}


def ignite() -> dict[str, Any]:
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.metrics import Accuracy, Loss

    model = perceptron()
    loss, losses = nn.CrossEntropyLoss(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trainer = create_supervised_trainer(model, optimizer, loss)
    metrics = {"accuracy": Accuracy(), "loss": Loss(loss)}
    evaluator = create_supervised_evaluator(model, metrics=metrics)
    trainer.on(Events.ITERATION_COMPLETED(every=2))(lambda e: losses.append(e.state.output))
    trainer.on(Events.EPOCH_COMPLETED)(lambda e: evaluator.run(batches()))
    trainer.run(batches(shuffle=True), max_epochs=2)
    return {"losses": losses, **evaluator.state.metrics}


def skorch() -> dict[str, Any]:
    from skorch import NeuralNetClassifier

    points, labels = (each.numpy() for each in clusters())
    net = NeuralNetClassifier(
        perceptron(), criterion=nn.CrossEntropyLoss, max_epochs=3, lr=0.1, verbose=0
    )
    net.fit(points, labels)
    return {"losses": [row["train_loss"] for row in net.history], "p": net.predict_proba(points)}


def optuna() -> dict[str, Any]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial: Any) -> float:
        torch.manual_seed(0)
        model = perceptron()
        points, labels = clusters()
        kind = getattr(torch.optim, trial.suggest_categorical("optimizer", ["Adam", "SGD"]))
        rate = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
        optimizer = kind(model.parameters(), lr=rate)
        return trained(model, entropy(model, labels, points), 5, optimizer)["losses"][-1]

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=5)
    return {"losses": [trial.value for trial in study.trials]}


def higher() -> dict[str, Any]:
    import higher

    points, labels = clusters()
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with higher.innerloop_ctx(model, optimizer, copy_initial_weights=False) as (inner, steps):
        for _ in range(3):
            steps.step(F.cross_entropy(inner(points), labels))
        loss = F.cross_entropy(inner(points), labels)
        loss.backward()
    return {"loss": loss, "gradients": {n: p.grad for n, p in model.named_parameters()}}


def stable_baselines3() -> dict[str, Any]:
    from stable_baselines3 import DQN, PPO

    result = {}
    for kind, steps, options in (
        (PPO, 64, {"n_steps": 64, "batch_size": 32, "n_epochs": 2}),
        (DQN, 64, {"learning_starts": 50, "train_freq": 4}),
    ):  # fmt: skip
        model = kind("MlpPolicy", "CartPole-v1", seed=0, device="cpu", **options)
        model.learn(total_timesteps=steps)
        result[kind.__name__] = model.policy.state_dict()
    return result


def pytorch_optimizer() -> dict[str, Any]:
    import pytorch_optimizer as library

    points, labels = clusters()
    result = {}
    for name in (
        "AdaBelief", "AdaBound", "Adan", "Lion", "Lamb", "MADGRAD", "RAdam", "Ranger", "AdamP",
        "DiffGrad", "QHAdam", "Prodigy", "Tiger", "AdaPNM", "ScheduleFreeAdamW",
    ):  # fmt: skip
        torch.manual_seed(0)
        model = perceptron()
        optimizer = getattr(library, name)(model.parameters(), lr=1e-2)
        getattr(optimizer, "train", lambda: None)()
        result[name] = trained(model, entropy(model, labels, points), 4, optimizer)["losses"]
    return result


# --- models of language and images ---------------------------------------------------------------

WORDS = {
    "vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 37,
}  # fmt: skip


def transformers_trainer() -> dict[str, Any]:
    import transformers as T

    words = torch.randint(3, 90, (16, 12))
    sizes = {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
    ends = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    model = T.GPT2LMHeadModel(T.GPT2Config(**sizes, **ends))
    data = [{"input_ids": row, "labels": row} for row in words]
    arguments = T.TrainingArguments(
        output_dir="out", per_device_train_batch_size=4, num_train_epochs=2, logging_steps=1,
        report_to=[], save_strategy="epoch", use_cpu=True, seed=1, disable_tqdm=True,
        learning_rate=1e-3, gradient_accumulation_steps=2,
    )  # fmt: skip
    trainer = T.Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data)
    trainer.train()
    losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
    model.save_pretrained("saved")
    again = T.GPT2LMHeadModel.from_pretrained("saved").eval()
    with torch.no_grad():
        logits = again(input_ids=words).logits
    return {"losses": losses, "eval": trainer.evaluate()["eval_loss"], "logits": logits}


def peft() -> dict[str, Any]:
    import peft
    import transformers as T

    model = T.LlamaForCausalLM(T.LlamaConfig(num_key_value_heads=2, **WORDS))
    lora = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    model = peft.get_peft_model(model, lora)
    words = torch.randint(3, 90, (2, 12))
    few = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
    result = trained(model, lambda: model(input_ids=words, labels=words).loss, 3, few)
    merged = model.merge_and_unload().eval()
    with torch.no_grad():
        return result | {"merged": merged(input_ids=words).logits}


def sentence_transformers() -> dict[str, Any]:
    import transformers as T
    from sentence_transformers import SentenceTransformer, losses, models, util

    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    with open("vocab.txt", "w") as file:
        file.write("\n".join([*marks, *"the a cat dog sat on mat ran fast slow".split()]))
    T.BertTokenizer("vocab.txt").save_pretrained("bert")
    torch.manual_seed(0)
    T.BertModel(T.BertConfig(**WORDS | {"vocab_size": 15})).save_pretrained("bert")
    words = models.Transformer("bert", max_seq_length=16)
    model = SentenceTransformer(modules=[words, models.Pooling(32)], device="cpu")
    found = model.encode(["the cat sat", "a dog ran fast"], convert_to_tensor=True)
    texts = [dict(model.tokenize(pair)) for pair in (["the cat", "a dog"], ["the dog", "a mat"])]
    torch.manual_seed(1)
    loss = losses.CosineSimilarityLoss(model)(texts, torch.tensor([0.8, 0.1]))
    loss.backward()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    alike = util.cos_sim(found, found)
    return {"found": found, "loss": loss, "gradients": gradients, "alike": alike}


def open_clip() -> dict[str, Any]:
    from open_clip import ClipLoss
    from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg

    eyes = CLIPVisionCfg(layers=2, width=32, head_width=16, patch_size=8, image_size=32)
    model = CLIP(32, eyes, CLIPTextCfg(16, vocab_size=100, width=32, heads=2, layers=2))
    images, words = torch.randn(4, 3, 32, 32), torch.randint(1, 99, (4, 16))
    return trained(model, lambda: ClipLoss()(*model(images, words)[:3]))


def x_transformers() -> dict[str, Any]:
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    layers = Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, ff_glu=True)
    model = TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=layers)
    wrapper = AutoregressiveWrapper(model)
    words = torch.randint(0, 50, (2, 16))
    return trained(wrapper, lambda: wrapper(words))


def vit_pytorch() -> dict[str, Any]:
    from vit_pytorch import ViT

    model = ViT(
        image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=4, mlp_dim=64,
        dropout=0.1,
    )  # fmt: skip
    images = torch.randn(2, 3, 32, 32)
    return trained(model, lambda: F.cross_entropy(model(images), torch.tensor([1, 7])))


def diffusers() -> dict[str, Any]:
    from diffusers import DDIMScheduler, DDPMScheduler, UNet2DModel

    sizes = {"sample_size": 16, "in_channels": 1, "out_channels": 1, "norm_num_groups": 8}
    model = UNet2DModel(
        layers_per_block=1, block_out_channels=(32, 64), **sizes,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    images, times = torch.randn(2, 1, 16, 16), torch.tensor([3, 20])
    noise = torch.randn_like(images)
    noisy = DDPMScheduler(50).add_noise(images, noise, times)
    schedule, drawn = DDIMScheduler(50), noise
    schedule.set_timesteps(3)
    with torch.no_grad():
        for time in schedule.timesteps:
            drawn = schedule.step(model(drawn, time).sample, time, drawn).prev_sample
    result = trained(model, lambda: F.mse_loss(model(noisy, times).sample, noise), steps=1)
    return result | {"drawn": drawn}


def segmentation_models_pytorch() -> dict[str, Any]:
    import segmentation_models_pytorch as smp

    images, labels = torch.randn(2, 3, 64, 64), torch.randint(0, 2, (2, 64, 64))
    loss = smp.losses.DiceLoss("multiclass")
    model = smp.Unet("resnet18", encoder_weights=None, classes=2)
    with torch.no_grad():
        output = model.eval()(images)
    model.train()
    return {"output": output, "loss": loss(model(images), labels)}


def monai() -> dict[str, Any]:
    from monai.losses import DiceCELoss
    from monai.networks.nets import UNet

    model = UNet(2, 1, 2, (4, 8, 16), (2, 2))
    images, labels = torch.randn(2, 1, 32, 32), torch.randint(0, 2, (2, 1, 32, 32))
    loss = DiceCELoss(to_onehot_y=True, softmax=True)
    return trained(model, lambda: loss(model(images), labels), steps=1)


def kornia() -> dict[str, Any]:
    import kornia as K

    x = torch.rand(2, 3, 32, 32)
    angles = torch.tensor([10.0, 20.0])
    result = {
        "hsv": K.color.rgb_to_hsv(x), "lab": K.color.rgb_to_lab(x), "sobel": K.filters.sobel(x),
        "blur": K.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5)),
        "rotated": K.geometry.rotate(x, angles), "resized": K.geometry.resize(x, (20, 24)),
        "dilated": K.morphology.dilation(x, torch.ones(3, 3)),
        "corners": K.feature.harris_response(x), "median": K.filters.median_blur(x, (3, 3)),
    }  # fmt: skip
    change = K.augmentation.AugmentationSequential(
        K.augmentation.RandomHorizontalFlip(p=0.5), K.augmentation.RandomAffine(15.0, p=1.0),
        K.augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0), data_keys=["input"],
    )  # fmt: skip
    torch.manual_seed(3)
    return result | {"changed": change(x)}


def lightly() -> dict[str, Any]:
    from lightly.loss import NegativeCosineSimilarity, NTXentLoss, VICRegLoss
    from lightly.models.modules import SimCLRProjectionHead

    body = nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=False), nn.AdaptiveMaxPool2d(1), nn.Flatten()
    )
    model = nn.Sequential(body, SimCLRProjectionHead(8, 16, 8))
    one, other = torch.randn(2, 8, 3, 16, 16)
    result = trained(model, lambda: NTXentLoss()(model(one), model(other)), steps=1)
    a, b = torch.randn(2, 8, 16)
    return result | {"vicreg": VICRegLoss()(a, b), "cosine": NegativeCosineSimilarity()(a, b)}


def lpips() -> dict[str, Any]:
    import lpips

    measure = lpips.LPIPS(net="alex", pretrained=False, pnet_rand=True, verbose=False)
    images = torch.rand(2, 1, 3, 64, 64, requires_grad=True)
    loss = measure(*(images * 2 - 1)).sum()
    loss.backward()
    return {"loss": loss, "gradients": {"images": images.grad}}


def pytorch_msssim() -> dict[str, Any]:
    from pytorch_msssim import ms_ssim, ssim

    image = torch.rand(1, 1, 180, 180, dtype=torch.float64)
    other = (image * 0.8 + torch.rand_like(image) * 0.2).requires_grad_()
    loss = ssim(image, other, data_range=1) + ms_ssim(image, other, data_range=1)
    loss.backward()
    # the window is float32, whose last bit its gradient shows
    assert other.grad is not None
    assert other.grad is not None
    return {"loss": loss, "finite": other.grad.isfinite()}


warnings.simplefilter("ignore")  # the libraries' own, about versions
