"""A training step of ResNet-50 by PyTorch, for tests/bench/gpu: autocast, channels_last, SGD with momentum, cuDNN's own search for algorithms. Not a bench itself.

    gpu_torch.py about                          torch=.. cuda=.. cudnn=.. gpu=.., or a line that says what is missing and exit 77
    gpu_torch.py serve [--batch N]              reads lines "eager|compile bf16|fp16 SECONDS", answers each with images_s=.. allocated=.. reserved=..
                                                It keeps the model of the last line alone, so the memory is of that one.
    gpu_torch.py largest [--gib 11] [--type T]  the largest batch, a multiple of 8, whose step fits when PyTorch may take so much: batch=.. images_s=..

--device cpu --model tiny is for a machine without a GPU: it shows that the script runs. Steps are queued, and waited for at the end of SECONDS.
"""
import argparse
import gc
import sys
import time

try:
    import torch
    from torch import nn
except ImportError as error:
    print(f"skipped: no PyTorch: {error}")
    sys.exit(77)

MODELS = {"resnet50": ((3, 4, 6, 3), 64, 224, 25557032), "tiny": ((1, 1), 8, 32, None)}  # blocks of each stage, width, pixels, parameters
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
STEP = 8  # batches of `largest`


class Block(nn.Module):
    """ResNet v1.5: the stride is in the 3x3 convolution, as in trainer_image/model/resnet50.model."""

    def __init__(self, into, width, stride):
        super().__init__()
        out = 4 * width
        self.path = nn.Sequential(nn.Conv2d(into, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
                                  nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
                                  nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out))
        same = into == out and stride == 1
        self.shortcut = nn.Sequential() if same else nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))
        self.end = nn.ReLU(True)

    def forward(self, x):
        return self.end(self.path(x) + self.shortcut(x))


def resnet(blocks, width):
    parts = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    into = width
    for stage, count in enumerate(blocks):
        for i in range(count):
            parts.append(Block(into, width << stage, 2 if stage > 0 and i == 0 else 1))
            into = 4 * (width << stage)
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(into, 1000))


class Peer:
    """A model with its optimizer and one batch of made-up pictures, that stays on the device."""

    def __init__(self, arguments, batch, kind, compiled):
        blocks, width, pixels, parameters = MODELS[arguments.model]
        self.device, self.batch = arguments.device, batch
        self.type = TYPES[kind] if self.device == "cuda" else torch.bfloat16  # a processor has no other autocast
        torch.manual_seed(1)
        self.model = resnet(blocks, width).to(self.device, memory_format=torch.channels_last)
        assert parameters in (None, sum(p.numel() for p in self.model.parameters()))
        self.run = torch.compile(self.model) if compiled else self.model
        self.x = torch.randn(batch, 3, pixels, pixels, device=self.device).to(memory_format=torch.channels_last)
        self.label = torch.randint(0, 1000, (batch,), device=self.device)
        fused = {"fused": True} if self.device == "cuda" else {}
        self.update = torch.optim.SGD(self.model.parameters(), 1e-4, momentum=0.9, weight_decay=1e-4, **fused)
        scales = kind == "fp16" and self.device == "cuda"
        self.scaler = torch.amp.GradScaler("cuda", enabled=scales) if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler(enabled=scales)

    def step(self):
        self.update.zero_grad(set_to_none=True)
        with torch.autocast(self.device, self.type):
            loss = nn.functional.cross_entropy(self.run(self.x), self.label)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.update)
        self.scaler.update()

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def speed(self, seconds):
        """Images a second. The queue is kept short, so that the time is that of the device."""
        self.wait()
        begin, steps = time.monotonic(), 0
        while steps == 0 or time.monotonic() - begin < seconds:
            for _ in range(5):
                self.step()
            steps += 5
            self.wait()
        return steps * self.batch / (time.monotonic() - begin)


def memory(arguments):
    """The most bytes of tensors, and the most that PyTorch took of the device."""
    if arguments.device != "cuda":
        return "allocated=0 reserved=0"
    return f"allocated={torch.cuda.max_memory_allocated()} reserved={torch.cuda.max_memory_reserved()}"


def serve(arguments):
    name, peer = None, None
    for line in sys.stdin:
        how, kind, seconds = line.split()
        if name != (how, kind):
            name, peer = (how, kind), None
            if arguments.device == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            peer = Peer(arguments, arguments.batch, kind, how == "compile")
            for _ in range(5):
                peer.step()
        print(f"images_s={peer.speed(float(seconds)):.2f} {memory(arguments)}", flush=True)


def fits(arguments, batch):
    """Images a second, or None when the memory is too little."""
    gc.collect()  # what the batch before held
    torch.cuda.empty_cache()
    try:
        return Peer(arguments, batch, arguments.type, False).speed(0.5)
    except torch.cuda.OutOfMemoryError:
        return None


def largest(arguments):
    if arguments.device != "cuda":
        sys.exit("largest wants a GPU: the memory of a processor has no cap")
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, arguments.gib * 2**30 / total))
    low, high, speed = 0, None, None  # in steps of 8
    while high is None or high - low > 1:
        at = max(1, 2 * low) if high is None else (low + high) // 2
        found = fits(arguments, at * STEP)
        if found is None:
            high = at
        else:
            low, speed = at, found
    print(f"batch={low * STEP} images_s={speed or 0:.2f} {memory(arguments)}")


def about(arguments):
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        sys.exit(77)
    gpu = torch.cuda.get_device_name(0).replace(" ", "_") if arguments.device == "cuda" else "none"
    print(f"torch={torch.__version__} cuda={torch.version.cuda} cudnn={torch.backends.cudnn.version()} gpu={gpu} compile={'yes' if hasattr(torch, 'compile') else 'no'}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=("about", "serve", "largest"))
    options.add_argument("--type", choices=tuple(TYPES), default="bf16")
    options.add_argument("--batch", type=int, default=256)
    options.add_argument("--gib", type=float, default=11)
    options.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options.add_argument("--model", choices=tuple(MODELS), default="resnet50")
    arguments = options.parse_args()
    torch.backends.cudnn.benchmark = arguments.what == "serve"  # with the cap, its search takes memory
    {"about": about, "serve": serve, "largest": largest}[arguments.what](arguments)


main()
