"""Batches of training input from a record file, made by threads of libhaasload.so. Needs Python and that library, nothing else.

    import haasload, torch
    loader = haasload.Loader("train.rec", "random_crop width=224 height=224; flip; normalise; pack type=fp16", batch=256, seed=1)
    for epoch in range(90):
        for images, labels in loader:                     # one epoch; each sample once
            x = torch.from_dlpack(images)                 # [N, H, W, C], no copy
            y = torch.from_dlpack(labels)

NumPy: numpy.asarray(images), no copy. A batch goes back to the loader when the last array of it is gone, so whoever keeps more than
depth - 1 batches gets a BufferError. loader.state_dict() is where the consumer is; load_state_dict() goes on there, bit-equal.

Of a set with masks: for batch in loader: numpy.asarray(batch.masks), [N, H, W].

The library is $HAASLOAD_LIBRARY, or beside this file, or libhaasload.so.1 where the system looks.
"""
import ctypes
import os

__all__ = ["Loader", "Batch", "Array", "Error"]
VERSION = 1
u32, u64, i32 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32


class Error(RuntimeError):
    """What the library says: the file, the word, and what may stand there."""


def _struct(name, *fields):
    """A struct of haasload.h; its first member is its size."""
    kind = type(name, (ctypes.Structure,), {"_fields_": [("size", u32), *fields]})
    return lambda **values: kind(size=ctypes.sizeof(kind), **values)


_options = _struct("Options", ("batch", u32), ("path", ctypes.c_char_p), ("ops", ctypes.c_char_p), ("depth", u32), ("window", u32),
                   ("rank", u32), ("ranks", u32), ("seed", u64), ("epoch", u64), ("position", u64), ("processors", u32),
                   ("threads", u32 * 3), ("k", u32), ("reserved", u32))
_shape = _struct("Shape", ("type", u32), ("height", u32), ("width", u32), ("channels", u32), ("batch", u32), ("samples", u64), ("batches", u64))
_batch = _struct("BatchOut", ("count", u32), ("data", ctypes.c_void_p), ("labels", ctypes.c_void_p), ("samples", ctypes.c_void_p),
                 ("skipped", u32), ("reserved", u32), ("masks", ctypes.c_void_p))
_where = _struct("Where", ("reserved", u32), ("seed", u64), ("epoch", u64), ("position", u64))
_fault = _struct("Fault", ("code", i32), ("sample", u64), ("text", ctypes.c_char * 160))
_COUNTS = ("batches", "samples", "skipped", "jpeg_warnings", "read_ns", "decode_ns", "augment_ns", "side_ns", "consumer_ns", "full_ns", "settings")
_counts = _struct("Counts", ("threads", u32 * 3), ("k", u32), ("resting", u32), *((name, u64) for name in _COUNTS))


def _open_library():
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libhaasload.so.1")
    path = os.environ.get("HAASLOAD_LIBRARY") or (beside if os.path.exists(beside) else "libhaasload.so.1")
    library = ctypes.CDLL(path)
    pointer = ctypes.c_void_p
    for name, result, arguments in (
            ("version", u32, []), ("open", ctypes.c_int, [pointer, pointer, ctypes.c_char_p, ctypes.c_size_t]), ("close", None, [pointer]),
            ("shape", ctypes.c_int, [pointer, pointer]), ("next", ctypes.c_int, [pointer, pointer]),
            ("give_back", ctypes.c_int, [pointer, pointer]), ("where", ctypes.c_int, [pointer, pointer]),
            ("fault", ctypes.c_int, [pointer, pointer]), ("counts", ctypes.c_int, [pointer, pointer]),
            ("set", ctypes.c_int, [pointer, u32 * 3, u32]), ("error", ctypes.c_char_p, [pointer])):
        function = getattr(library, "haasload_" + name)
        function.restype, function.argtypes = result, arguments
    if library.haasload_version() != VERSION:
        raise ImportError(f"{path} speaks version {library.haasload_version()} of haasload.h, this file {VERSION}")
    return library


_library = _open_library()


# ---- DLPack (dlpack.h, version 0.8: what NumPy and PyTorch take) ----

class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", i32), ("device_id", i32), ("ndim", i32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", u64)]


class _DLManagedTensor(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_DLManagedTensor._fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]
_exported = {}  # address of a managed tensor: what must live as long as its consumer


@_DELETER
def _delete(address):
    _exported.pop(address, None)


_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR)(("PyCapsule_New", ctypes.pythonapi))
_NAME = b"dltensor"  # whoever takes it renames it to used_dltensor


@_DESTRUCTOR
def _destroy(capsule):
    if _is_valid(capsule, _NAME):  # nobody took it
        _exported.pop(_get_pointer(capsule, _NAME), None)


# (DLPack code, bits, NumPy's type) by haasload_type, then labels and sample numbers. NumPy has no bf16: it sees the bits.
_TYPES = [(1, 8, "|u1"), (2, 32, "<f4"), (4, 16, "<u2"), (2, 16, "<f2")]
_INT32, _UINT64 = (0, 32, "<i4"), (1, 64, "<u8")


class Array:
    """Memory of a batch, seen by NumPy and DLPack without a copy. It keeps its batch lent."""

    def __init__(self, batch, address, shape, kind):
        self._batch, self._address, self.shape, self._kind = batch, address, shape, kind

    def __len__(self):
        return self.shape[0]

    @property
    def __array_interface__(self):
        return {"shape": self.shape, "typestr": self._kind[2], "data": (self._address, False), "version": 3}

    def __dlpack_device__(self):
        return (1, 0)  # kDLCPU

    def __dlpack__(self, stream=None, **_):
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        code, bits, _ = self._kind
        managed = _DLManagedTensor(_DLTensor(self._address, 1, 0, len(self.shape), code, bits, 1, shape, None, 0), None, _delete)
        address = ctypes.addressof(managed)
        _exported[address] = (managed, shape, self)
        return _new_capsule(address, _NAME, _destroy)


class Batch:
    """images [N, H, W, C], labels [N], samples [N] (numbers in the file); unpacks as (images, labels).

    masks [N, H, W]: the class of each pixel as uint8, 255 where it has none; None where the set has no masks.
    """

    def __init__(self, handle, shape, out):
        self._lent = _Lent(handle, out.data)
        self.images = Array(self._lent, out.data, (out.count, shape.height, shape.width, shape.channels), _TYPES[shape.type])
        self.labels = Array(self._lent, out.labels, (out.count,), _INT32)
        self.samples = Array(self._lent, out.samples, (out.count,), _UINT64)
        self.masks = Array(self._lent, out.masks, (out.count, shape.height, shape.width), _TYPES[0]) if out.masks else None
        self.skipped = out.skipped

    def __len__(self):
        return len(self.labels)

    def __iter__(self):
        return iter((self.images, self.labels))


class _Lent:
    """Gives a batch back when nobody sees it any more."""

    def __init__(self, handle, data):
        self._handle, self._data = handle, data

    def __del__(self):
        if self._handle.pointer:  # a cycle may be taken apart with the handle first, which frees all batches
            _library.haasload_give_back(self._handle.pointer, self._data)


class _Handle:
    """A struct haasload; lives as long as its loader and its batches."""

    def __init__(self, options):
        self.pointer = ctypes.c_void_p()
        text = ctypes.create_string_buffer(512)
        if _library.haasload_open(ctypes.byref(options), ctypes.byref(self.pointer), text, len(text)) != 0:
            raise Error(text.value.decode(errors="replace"))

    def __del__(self):
        _library.haasload_close(self.pointer)
        self.pointer = None

    def error(self):
        return _library.haasload_error(self.pointer).decode(errors="replace")


class Loader:
    """An iterator over epochs: each `for` takes one, or the rest of one after load_state_dict()."""

    def __init__(self, path, ops, batch, *, seed=0, rank=0, ranks=1, depth=0, window=0, processors=0, threads=None, k=2):
        self._values = {"path": os.fsencode(path), "ops": ops.encode(), "batch": batch, "rank": rank, "ranks": ranks, "depth": depth,
                        "window": window, "processors": processors, "threads": (u32 * 3)(*(threads or (0, 0, 0))), "k": k}
        self._open(seed, 0, 0)

    def _open(self, seed, epoch, position):
        self._handle = _Handle(_options(seed=seed, epoch=epoch, position=position, **self._values))
        self._shape = _shape()
        _library.haasload_shape(self._handle.pointer, ctypes.byref(self._shape))

    def __len__(self):
        return self._shape.batches

    @property
    def shape(self):
        return (self._shape.batch, self._shape.height, self._shape.width, self._shape.channels)

    @property
    def samples(self):
        """Of one epoch of this rank."""
        return self._shape.samples

    def __iter__(self):
        while True:
            out = _batch()
            got = _library.haasload_next(self._handle.pointer, ctypes.byref(out))
            if got < 0:
                raise BufferError(self._handle.error())
            if got == 0:
                return
            yield Batch(self._handle, self._shape, out)

    def state_dict(self):
        where = _where()
        _library.haasload_where(self._handle.pointer, ctypes.byref(where))
        return {"seed": where.seed, "epoch": where.epoch, "position": where.position}

    def load_state_dict(self, state):
        self._open(state["seed"], state["epoch"], state["position"])

    def counts(self):
        """What was done, how long the consumer waited and for what, and the threads that run now."""
        counts = _counts()
        _library.haasload_counts(self._handle.pointer, ctypes.byref(counts))
        return {name: getattr(counts, name) for name in (*_COUNTS, "k", "resting")} | {"threads": tuple(counts.threads)}

    def faults(self):
        """Samples skipped since the last call: [(number in the file, why)]."""
        faults, fault = [], _fault()
        while _library.haasload_fault(self._handle.pointer, ctypes.byref(fault)) == 1:
            faults.append((fault.sample, fault.text.decode(errors="replace")))
        return faults

    def set(self, threads=None, k=2):
        """Threads of reading, decoding and augmenting, and k; without threads the loader tunes itself again."""
        if _library.haasload_set(self._handle.pointer, (u32 * 3)(*(threads or (0, 0, 0))), k) != 0:
            raise Error(self._handle.error())
