"""Schemes with zero points, groups, tables and nested scales, by their libraries: AutoGPTQ, AutoAWQ,
bitsandbytes, and compressed-tensors before 0.13, whose groups have columns in any order. Each follows the
interface of schemes.py. AutoGPTQ and AutoAWQ need old versions of transformers, so only their packing modules
are loaded, without their other imports."""
import importlib
import importlib.util
import sys
import types

import torch


def linear(name):
    return name.endswith('_proj.weight')


def bare(*packages):
    """Makes packages importable without running their own imports."""
    for package in packages:
        parent, _, last = package.rpartition('.')
        where = sys.modules[parent].__path__ if parent else None
        spec = importlib.machinery.PathFinder.find_spec(package, where)
        module = types.ModuleType(package)
        module.__path__ = list(spec.submodule_search_locations)
        sys.modules[package] = module


def split(state, quantise):
    """`quantise(name, tensor)` returns the stored parts by name within the module, and their values in
    float32."""
    stored, values = {}, {}
    for name, tensor in state.items():
        if not linear(name):
            stored[name], values[name] = tensor.clone(), tensor.float()
            continue
        parts, values[name] = quantise(name, tensor)
        stored.update({name[: -len('weight')] + part: value for part, value in parts.items()})
    return stored, values


def extremes(weight, groups, bits):
    """Scales and zero points of [out, in] by groups of input features, [out, groups], as in AutoGPTQ's
    quantizer."""
    scales, zeros = [], []
    for group in range(int(groups.max()) + 1):
        columns = weight[:, groups == group]
        low, high = columns.amin(dim=1).clamp(max=0), columns.amax(dim=1).clamp(min=0)
        scale = ((high - low) / (2**bits - 1)).clamp(min=1e-8)
        scales.append(scale)
        # A zero point of 0 is written as -1, which borrows from its neighbours.
        zeros.append(torch.round(-low / scale).clamp(1, 2**bits - 1))
    return torch.stack(scales, dim=1), torch.stack(zeros, dim=1)


def as_linear(weight):
    made = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    made.weight.data = weight
    return made


class Gptq:
    """AutoGPTQ's module packs, and its product with the identity dequantises. It lacks version 2, which has
    other zero points."""
    step = 32

    def quantise(self, state, settings, seed):
        if 'auto_gptq' not in sys.modules:
            bare('auto_gptq', 'auto_gptq.nn_modules', 'auto_gptq.nn_modules.qlinear')
        QuantLinear = importlib.import_module('auto_gptq.nn_modules.qlinear.qlinear_cuda').QuantLinear
        bits, size = [(4, 32), (8, 64), (4, -1), (4, 16), (8, 32)][seed % 5]
        version, any_order = 1 + seed % 2, seed % 3 != 1
        dtype = [torch.float16, torch.bfloat16][seed % 2]
        random = torch.Generator().manual_seed(seed)

        def quantise(name, tensor):
            features = tensor.shape[1]
            groups = torch.arange(features) // (features if size == -1 else size)
            if any_order:
                groups = groups[torch.randperm(features, generator=random)]
            scales, zeros = extremes(tensor.float(), groups, bits)
            weight = scales[:, groups] * (torch.clamp(torch.round(tensor.float() / scales[:, groups]) + zeros[:, groups], 0, 2**bits - 1)
                                          - zeros[:, groups])
            module = QuantLinear(bits, size, features, tensor.shape[0], bias=False, weight_dtype=dtype)
            module.autogptq_cuda_available = False
            module.pack(as_linear(weight), scales, zeros.clone(), groups.to(torch.int32))
            # Scales are stored at half width; codes are those of the full width.
            module.scales = module.scales.to(dtype)
            parts = {part: getattr(module, part).clone() for part in ['qweight', 'qzeros', 'scales', 'g_idx']}
            module.scales = module.scales.float()
            values = module(torch.eye(features)).T.contiguous()
            if version == 2:
                each, mask = 32 // bits, 2**bits - 1
                shifts = torch.arange(0, 32, bits)
                ones = ((parts['qzeros'].long()[:, :, None] >> shifts & mask) + 1 & mask) << shifts
                packed = ones.sum(dim=-1)
                parts['qzeros'] = torch.where(packed >= 2**31, packed - 2**32, packed).to(torch.int32)
            return parts, values

        stored, values = split(state, quantise)
        return stored, {'quant_method': 'gptq', 'bits': bits, 'group_size': size, 'desc_act': any_order, 'sym': False,
                        **({'checkpoint_format': 'gptq_v2'} if version == 2 else {})}, values


class Awq:
    """AutoAWQ's WQLinear_GEMM packs, and its `dequantize_gemm` dequantises."""
    step = 32

    def quantise(self, state, settings, seed):
        if 'awq' not in sys.modules:
            bare('awq', 'awq.modules', 'awq.modules.linear', 'awq.utils')
        gemm = importlib.import_module('awq.modules.linear.gemm')
        dequantize = importlib.import_module('awq.utils.packing_utils').dequantize_gemm
        size = [32, -1, 16, 32][seed % 4]

        def quantise(name, tensor):
            features = tensor.shape[1]
            group = features if size == -1 else size
            scales, zeros = extremes(tensor.float(), torch.arange(features) // group, 4)
            module = gemm.WQLinear_GEMM.from_linear(as_linear(tensor.float()), 4, group, False, scales.T.contiguous().half().float(),
                                                    zeros.T.contiguous())
            parts = {part: getattr(module, part) for part in ['qweight', 'qzeros', 'scales']}
            values = dequantize(module.qweight, module.qzeros, module.scales.float(), 4, group)
            return parts, values.float().T.contiguous()

        stored, values = split(state, quantise)
        return stored, {'quant_method': 'awq', 'bits': 4, 'group_size': size, 'zero_point': True, 'version': 'gemm',
                        'modules_to_not_convert': ['lm_head']}, values


class Bitsandbytes:
    """The library's own functions, whose results Linear4bit and Linear8bitLt store. The AVX-512 kernel uses
    other scales for rows without whole blocks (0.50.2): there its torch function dequantises. FP4's code of
    -0 gives -0, as in its other CPU kernel; the AVX-512 kernel and the function give 0."""
    step = 1

    def __init__(self, kind):
        self.kind = kind

    def quantise(self, state, settings, seed):
        import bitsandbytes.functional as F
        from bitsandbytes.backends.default.ops import _dequantize_4bit_compute
        dequantize = _dequantize_4bit_compute.__wrapped__
        nested = seed % 3 != 2
        storage = [torch.uint8, torch.uint8, torch.bfloat16][seed % 3]
        size = [64, 128, 32, 256][seed % 4]

        def in_rows(tensor):
            codes, scales, _ = F.int8_vectorwise_quant(tensor.half())
            parts = {'weight': codes, 'SCB': scales, 'weight_format': torch.tensor(0, dtype=torch.uint8)}
            return parts, F.int8_vectorwise_dequant(codes, scales)

        def quantise(name, tensor):
            if self.kind == 'int8':
                return in_rows(tensor)
            whole = tensor.numel() % 4 == 0
            codes, made = F.quantize_4bit(tensor.contiguous(), blocksize=size, compress_statistics=nested, quant_type=self.kind,
                                          quant_storage=storage if whole else torch.uint8)
            parts = {'weight': codes, **{'weight.' + part: value for part, value in made.as_dict(packed=True).items()}}
            made.dtype = torch.float32
            if tensor.shape[1] % size == 0:
                values = F.dequantize_4bit(codes, made)
            else:
                scales = F.dequantize_blockwise(made.absmax, made.state2) + made.offset if nested else made.absmax
                values = dequantize(codes.view(torch.uint8).reshape(-1), scales, made.code, size, tensor.shape, torch.float32)
            bytes = codes.view(torch.uint8).reshape(-1)
            written = torch.stack([bytes >> 4, bytes & 15], dim=1).reshape(-1)[: tensor.numel()].reshape(tensor.shape)
            return parts, torch.where((values == 0) & (written == 8), -torch.zeros(()), values)

        stored, values = split(state, quantise)
        said = {'load_in_8bit': True} if self.kind == 'int8' else {
            'load_in_4bit': True, 'bnb_4bit_quant_type': self.kind, 'bnb_4bit_use_double_quant': nested,
            'bnb_4bit_compute_dtype': 'bfloat16', 'bnb_4bit_quant_storage': str(storage).split('.')[1]}
        return stored, {'quant_method': 'bitsandbytes', **said, 'llm_int8_skip_modules': ['lm_head']}, values


class GroupsOfColumns:
    """compressed-tensors with `weight_g_idx`: its `quantize`, `pack_to_int32` and `dequantize`, with scales
    in float32."""
    step = 32

    def quantise(self, state, settings, seed):
        from compressed_tensors.compressors.quantized_compressors.pack_quantized import pack_to_int32, unpack_from_int32
        from compressed_tensors.quantization import QuantizationArgs
        from compressed_tensors.quantization.lifecycle.forward import dequantize, quantize
        size, bits, symmetric = [32, 16][seed % 2], [4, 8, 4][seed % 3], seed % 4 == 0
        args = QuantizationArgs(num_bits=bits, type='int', symmetric=symmetric, strategy='group', group_size=size, actorder='group')
        random = torch.Generator().manual_seed(seed)

        def quantise(name, tensor):
            features = tensor.shape[1]
            groups = (torch.arange(features) // size)[torch.randperm(features, generator=random)].to(torch.int32)
            scale, zero = extremes(tensor.float(), groups, bits)
            zero = None if symmetric else (zero - 2 ** (bits - 1)).to(torch.int8)
            if symmetric:
                scale = scale * 2
            codes = quantize(tensor.float(), scale, zero, args, dtype=torch.int8, g_idx=groups)
            packed = pack_to_int32(codes, bits)
            parts = {'weight_packed': packed, 'weight_scale': scale, 'weight_shape': torch.tensor(tensor.shape), 'weight_g_idx': groups}
            if not symmetric:
                parts['weight_zero_point'] = pack_to_int32(zero, bits, packed_dim=0).contiguous()
                zero = unpack_from_int32(parts['weight_zero_point'], bits, zero.shape, packed_dim=0)
            return parts, dequantize(unpack_from_int32(packed, bits, tensor.shape), scale, zero, args, dtype=torch.float32, g_idx=groups)

        stored, values = split(state, quantise)
        return stored, {'quant_method': 'compressed-tensors', 'format': 'pack-quantized', 'quantization_status': 'compressed',
                        'config_groups': {'group_0': {'targets': ['Linear'], 'weights': args.model_dump(mode='json')}},
                        'ignore': ['lm_head']}, values


schemes = {
    'gptq': Gptq(), 'awq': Awq(), 'bnb-nf4': Bitsandbytes('nf4'), 'bnb-fp4': Bitsandbytes('fp4'), 'bnb-int8': Bitsandbytes('int8'),
    'ct-groups': GroupsOfColumns(),
}
