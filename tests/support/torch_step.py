#!/usr/bin/python3
"""torch_step.py FOLDER UPDATE: does in PyTorch, in FP64, the training step that `bench_cpu_step dump` wrote to FOLDER, and compares loss, gradients, running
statistics and updated parameters. One line a tensor: role, name, greatest difference over the greatest number of the tensor.
Runs by Debian's python3 (python3-torch)."""
import pathlib
import sys

import numpy
import torch
from torch.nn import functional as F

folder, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
words = numpy.fromfile(folder / "data", dtype="<f4")
torch.set_default_dtype(torch.float64)


def read():
    """{role: {name: tensor}}, loss; numbers of labels and tokens are int32 in the same file."""
    found, loss = {}, None
    for line in (folder / "tensors").read_text().splitlines():
        role, name, place, *sizes = line.split()
        if role == "loss":
            loss = float(name)
            continue
        sizes = list(map(int, sizes))
        numbers = words[int(place):int(place) + int(numpy.prod(sizes))]
        found.setdefault(role, {})[name] = (sizes, numbers)
    return found, loss


def real(entry):
    return torch.from_numpy(entry[1].astype("float64")).reshape(entry[0])


def whole(entry):
    return torch.from_numpy(entry[1].view("<i4").astype("int64")).reshape(entry[0])


found, loss = read()
parameters = {name: real(entry).requires_grad_() for name, entry in found["parameter"].items()}
statistics = {name: real(entry) for name, entry in found.get("statistic", {}).items()}
lines = [line.split() for line in (folder / "model").read_text().splitlines() if line]
first = lines[1]
tokens = any("words=" in word for word in first)
values = {first[1]: (whole if tokens else real)(found["input"][first[1]])}
labels = {lines[2][1]: whole(found["label"][lines[2][1]])}


def channels_first(x):
    return x.permute(0, 3, 1, 2)


def channels_last(x):
    return x.permute(0, 2, 3, 1)


def pair(text):
    return tuple(map(int, text.split("x")))


def conv(name, x, keys):
    weight = parameters[name + ".weight"].permute(0, 3, 1, 2)
    y = F.conv2d(channels_first(x), weight, parameters.get(name + ".bias"), pair(keys["stride"]), pair(keys.get("pad", "0x0")))
    return channels_last(y)


def batch_norm(name, x, keys):
    mean, variance = statistics[name + ".mean"], statistics[name + ".variance"]
    y = F.batch_norm(channels_first(x) if x.dim() == 4 else x, mean, variance, parameters[name + ".scale"], parameters[name + ".shift"], True, float(keys["momentum"]), float(keys["epsilon"]))
    return channels_last(y) if x.dim() == 4 else y


def pool(function, **more):
    def run(_name, x, keys):
        if "window" not in keys:
            return x.mean((1, 2), keepdim=True)
        return channels_last(function(channels_first(x), pair(keys["window"]), pair(keys["stride"]), pair(keys.get("pad", "0x0")), **more))
    return run


def attention(_name, x, keys):
    """Shares of all places before and at one's own, a head at a time; q, k and v of all heads lie beside each other."""
    batch, length, three = x.shape
    heads = int(keys["heads"])
    q, k, v = (part.reshape(batch, length, heads, -1).transpose(1, 2) for part in x.split(three // 3, 2))
    scores = q @ k.transpose(2, 3) / (q.shape[-1] ** 0.5)
    if keys.get("causal") == "1":
        scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), float("-inf"))
    return (scores.softmax(3) @ v).transpose(1, 2).reshape(batch, length, three // 3)


OPS = {
    "conv": conv, "batch_norm": batch_norm, "attention": attention,
    "linear": lambda name, x, keys: F.linear(x, parameters[name + ".weight"], parameters.get(name + ".bias")),
    "layer_norm": lambda name, x, keys: F.layer_norm(x, x.shape[-1:], parameters[name + ".scale"], parameters[name + ".shift"], float(keys["epsilon"])),
    "max_pool": pool(F.max_pool2d), "average_pool": pool(F.avg_pool2d),
    "upsample": lambda name, x, keys: x.repeat_interleave(int(keys["factor"]), 1).repeat_interleave(int(keys["factor"]), 2),
    "activation": lambda name, x, keys: {"relu": F.relu, "gelu": F.gelu, "sigmoid": torch.sigmoid, "tanh": torch.tanh}[keys["function"]](x),
    "flatten": lambda name, x, keys: x.reshape(x.shape[0], -1),
    "embedding": lambda name, x, keys: F.embedding(x, parameters[name + ".table"]) + parameters[name + ".place"],
}

mean = None
for name, _, op, *rest in lines[3:]:
    inputs = [word for word in rest if "=" not in word]
    keys = dict(word.split("=", 1) for word in rest if "=" in word)
    if op == "cross_entropy":
        logit, label = values[inputs[0]], labels[inputs[1]]
        mean = F.cross_entropy(logit.reshape(-1, logit.shape[-1]), label.reshape(-1), label_smoothing=float(keys.get("smooth", 0)))
    elif op == "add":
        values[name] = values[inputs[0]] + values[inputs[1]]
    elif op == "concat":
        values[name] = torch.cat([values[one] for one in inputs], -1)
    else:
        values[name] = OPS[op](name, values[inputs[0]], keys)
mean.backward()

if kind == "adamw":
    update = torch.optim.AdamW(parameters.values(), 0.001, (0.9, 0.999), 1e-8, 0.01)
else:
    update = torch.optim.SGD(parameters.values(), 0.1, momentum=0.9, weight_decay=0.0001)
slopes = {name: real(found["gradient"][name]) for name in parameters}
wanted = {name: parameter.grad.clone() for name, parameter in parameters.items()}
# Gradients are compared by themselves; the update begins with ours: AdamW makes a step of full length of the smallest gradient.
for name, parameter in parameters.items():
    parameter.grad = slopes[name].clone()
if kind == "lars":  # You et al. 2017: the rate of each tensor is its own
    for parameter in parameters.values():
        weight, slope = parameter.detach().norm(), parameter.grad.norm()
        trust = 0.001 * weight / (slope + 0.0001 * weight) if weight > 0 and slope > 0 else 1
        parameter.grad = parameter.grad * trust + (trust - 1) * 0.0001 * parameter.detach()
update.step()


def difference(role, name, ours, theirs, least=1e-12):
    """`least`: a tensor that is nothing but rounding, as the gradient of a bias before a batch norm, is compared with its neighbours."""
    theirs = theirs.detach()
    print(role, name, (ours - theirs).abs().max().item() / max(theirs.abs().max().item(), least))


steepest = max(slope.abs().max().item() for slope in wanted.values())
difference("loss", "mean", torch.tensor(loss), mean)
for name, parameter in parameters.items():
    difference("gradient", name, slopes[name], wanted[name], steepest / 1000)
    difference("updated", name, real(found["updated"][name]), parameter, 0.001)
for name, statistic in statistics.items():
    difference("counted", name, real(found["counted"][name]), statistic)
