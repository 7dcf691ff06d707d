"""Necessary differences between the two operator back ends: PyTorch behaves differently while a dispatch mode is on."""

import torch

#: Operators that only the dispatch back end records.
DISPATCH_ONLY = {
    "profiler::_record_function_enter_new": "not observed: PyTorch reports the range, not the operator that opens it",
    "profiler::_record_function_exit": "not observed, as above",
    "aten::detach": "saved variables are detached through the dispatcher only while a mode is on",
    "aten::scalar_tensor": "scalars become tensors through the dispatcher only while a mode is on",
    "aten::add": "sums are not computed in place while a mode is on: add instead of add_",
    "aten::view": "views are created by view instead of _reshape_alias while a mode is on",
}

#: Operators that only the record back end records, at the level of dispatch modes.
RECORD_ONLY = {
    "aten::add_": "in place only while no mode is on, see aten::add",
    "aten::_reshape_alias": "see aten::view",
}


def is_composite(name: str) -> bool:
    """Whether PyTorch decomposes the operator above the level of dispatch modes."""
    namespace, colons, operator = name.partition("::")
    if not colons:  # named by C++ code, like "detach"
        return False
    packet = getattr(getattr(torch.ops, namespace), operator)
    overloads = [getattr(packet, name)._name for name in packet.overloads() if "out" not in name]
    return all(_is_composite_overload(name) for name in overloads)


def _is_composite_overload(name: str) -> bool:
    try:
        return torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")
    except RuntimeError:  # overloads that only TorchScript has are not in the dispatcher
        return True
