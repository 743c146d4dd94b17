"""Each scheme: `quantise(state, settings, seed)` returns stored tensors, `quantization_config`, and the
stored tensors dequantised to float32 by the scheme's own code."""
import torch
from transformers import GptOssConfig
from transformers.integrations.finegrained_fp8 import Fp8Dequantize
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

import words

LARGEST = 448.0


def linear(name):
    return name.endswith('_proj.weight')


def split(state, quantise, dequantise):
    stored, values = {}, {}
    for name, tensor in state.items():
        parts = quantise(name, tensor) if linear(name) else None
        if parts is None:
            stored[name] = tensor.clone()
            values[name] = tensor.float()
            continue
        module = name[: -len('weight')]
        stored.update({module + part: value for part, value in parts.items()})
        values[name] = dequantise(parts, tensor.shape)
    return stored, values


class Fp8Block:
    """transformers' FineGrainedFP8, including blocks that DeepSeek's kernels cut at the matrix's edge."""
    step = 1

    def quantise(self, state, settings, seed):
        block = [(32, 32), (16, 48), (128, 128), (24, 40), (64, 64)][seed % 5] if len(state) < 200 else (128, 128)
        kind = ['float32', 'bfloat16', 'exponents'][seed % 3]

        def grid(matrix):
            rows, columns = matrix.shape
            padded = torch.zeros(-(-rows // block[0]) * block[0], -(-columns // block[1]) * block[1], dtype=matrix.dtype)
            padded[:rows, :columns] = matrix
            return padded

        def quantise(name, tensor):
            padded = grid(tensor.float())
            tiles = padded.reshape(padded.shape[0] // block[0], block[0], padded.shape[1] // block[1], block[1])
            scales = (tiles.abs().amax(dim=(1, 3)).clamp(min=1e-12) / LARGEST).float()
            if kind == 'exponents':
                scales = torch.pow(2.0, torch.ceil(torch.log2(scales)))
            if kind == 'bfloat16':
                scales = scales.to(torch.bfloat16)
            codes = (tiles / scales.float()[:, None, :, None]).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)
            codes = codes.reshape(padded.shape)[: tensor.shape[0], : tensor.shape[1]].contiguous()
            if kind == 'exponents':
                scales = scales.to(torch.float8_e8m0fnu)
            return {'weight': codes, 'weight_scale_inv': scales}

        def dequantise(parts, shape):
            # The reference has whole blocks only.
            padded = grid(parts['weight'].view(torch.uint8)).view(torch.float8_e4m3fn)
            whole = Fp8Dequantize(None)._dequantize_one(padded, parts['weight_scale_inv'], torch.float32)
            return whole[: shape[0], : shape[1]].contiguous()

        stored, values = split(state, quantise, dequantise)
        return stored, {'quant_method': 'fp8', 'activation_scheme': 'dynamic', 'weight_block_size': list(block),
                        'modules_to_not_convert': ['lm_head']}, values



class Fp8Rows:
    """transformers' FineGrainedFP8 without blocks: a scale for each channel, or for the tensor."""
    step = 1

    def __init__(self, of):
        self.of = of

    def quantise(self, state, settings, seed):
        dtype = [torch.float32, torch.bfloat16][seed % 2]

        def quantise(name, tensor):
            largest = tensor.float().abs().amax(dim=1, keepdim=True) if self.of == 'channel' else tensor.float().abs().max()
            scales = (largest.clamp(min=1e-12) / LARGEST).to(dtype)
            codes = (tensor.float() / scales.float()).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)
            return {'weight': codes, 'weight_scale': scales}

        def dequantise(parts, shape):
            scales = parts['weight_scale'] if self.of == 'channel' else parts['weight_scale'].reshape(1, 1)
            return Fp8Dequantize(None)._dequantize_one(parts['weight'], scales, torch.float32)

        stored, values = split(state, quantise, dequantise)
        # As fbgemm and vLLM name them.
        method = {'channel': 'fbgemm_fp8', 'tensor': 'fp8'}[self.of]
        return stored, {'quant_method': method, 'modules_to_not_convert': ['lm_head']}, values


class Mxfp4:
    """gpt-oss: the experts of every layer in blocks of 32, and `convert_moe_packed_tensors`."""
    step = 32

    def tiny(self, seed):
        heads, head = [(2, 16), (4, 16), (4, 24), (2, 32), (3, 32)][seed % 5]
        return GptOssConfig(vocab_size=64 + 8 * seed, hidden_size=heads * head if heads * head % 32 == 0 else 96,
                            intermediate_size=32 * (1 + seed % 3), num_hidden_layers=4 + seed % 2, num_local_experts=2 + seed % 3,
                            num_experts_per_tok=2, num_attention_heads=heads, num_key_value_heads=heads // 2 if heads % 2 == 0 else heads,
                            head_dim=head, max_position_embeddings=64, sliding_window=16, tie_word_embeddings=seed % 2 == 0)

    def quantise(self, state, settings, seed):
        numbers = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])

        def quantise(tensor):
            # Stored by rows of the output: the model has them transposed.
            matrices = tensor.float().transpose(1, 2).contiguous()
            blocks = matrices.reshape(*matrices.shape[:2], -1, 32)
            largest = blocks.abs().amax(dim=-1).clamp(min=1e-12)
            exponents = (torch.floor(torch.log2(largest)) - 2).clamp(-127, 127)
            scaled = blocks / torch.pow(2.0, exponents)[..., None]
            codes = (scaled.abs()[..., None] - numbers).abs().argmin(dim=-1)
            codes = (codes + 8 * torch.signbit(scaled)).to(torch.uint8)
            return codes[..., 0::2] | codes[..., 1::2] << 4, (exponents + 127).to(torch.uint8)

        stored, values = {}, {}
        for name, tensor in state.items():
            if not name.endswith(('.gate_up_proj', '.down_proj')):
                stored[name], values[name] = tensor.clone(), tensor.float()
                continue
            blocks, scales = quantise(tensor)
            stored[name + '_blocks'], stored[name + '_scales'] = blocks, scales
            values[name] = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
        return stored, {'quant_method': 'mxfp4', 'modules_to_not_convert': [
            'model.layers.*.self_attn', 'model.layers.*.mlp.router', 'model.embed_tokens', 'lm_head']}, values


class CompressedTensors:
    """The library's own compressors. They round to the dtype of the scales, so they get these in float32."""

    def __init__(self, format, step, ways):
        self.format, self.step, self.ways = format, step, ways

    def quantise(self, state, settings, seed):
        from compressed_tensors.compressors.base import BaseCompressor
        from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
        from compressed_tensors.quantization.lifecycle.forward import dequantize
        from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
        args = QuantizationArgs(**{'symmetric': True, **self.ways[seed % len(self.ways)]})
        scheme = QuantizationScheme(targets=['Linear'], weights=args)
        compressor = BaseCompressor.get_value_from_registry(self.format)
        dtype = [torch.bfloat16, torch.float32, torch.float16][seed % 3]

        def extremes(weight):
            rows, columns = weight.shape
            if args.strategy in ('group', 'tensor_group'):
                weight = weight.reshape(rows, -1, args.group_size)
                return weight.amin(dim=-1), weight.amax(dim=-1)
            if args.strategy == 'block':
                down, across = args.block_structure
                padded = torch.nn.functional.pad(weight, (0, -columns % across, 0, -rows % down))
                tiles = padded.reshape(padded.shape[0] // down, down, padded.shape[1] // across, across)
                return tiles.amin(dim=(1, 3)), tiles.amax(dim=(1, 3))
            if args.strategy == 'channel':
                return weight.amin(dim=1, keepdim=True), weight.amax(dim=1, keepdim=True)
            return weight.min().reshape(1), weight.max().reshape(1)

        def quantise(name, tensor):
            weight = tensor.float()
            given = {'weight': weight}
            if 'nvfp4' in self.format:
                given['weight_global_scale'] = generate_gparam(weight.min(), weight.max()).reshape(1)
            scale, zero = calculate_qparams(*extremes(weight), args, given.get('weight_global_scale'))
            given['weight_scale'] = scale if 'fp4' in self.format else scale.to(dtype)
            if not args.symmetric:
                given['weight_zero_point'] = zero
            return compressor.compress({**given, 'weight': weight.to(dtype)}, scheme)

        def dequantise(parts, shape):
            if 'weight_packed' in parts and parts['weight_packed'].dtype == torch.uint8:
                from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
                codes = unpack_fp4_from_uint8(parts['weight_packed'], *shape, dtype=torch.float32)
                if 'weight_global_scale' not in parts:
                    scales = compressor._decompress_scale(parts['weight_scale'], torch.float32)
                    return dequantize(codes, scales, args=args, dtype=torch.float32)
                return dequantize(codes, parts['weight_scale'].float(), args=args, dtype=torch.float32,
                                  global_scale=parts['weight_global_scale'])
            wide = {**parts, 'weight_scale': parts['weight_scale'].float()}
            return compressor.decompress(wide, scheme)['weight'].float().contiguous()

        stored, values = split(state, quantise, dequantise)
        return stored, {'quant_method': 'compressed-tensors', 'format': self.format, 'quantization_status': 'compressed',
                        'config_groups': {'group_0': {'targets': ['Linear'], 'format': self.format,
                                                      'weights': args.model_dump(mode='json')}},
                        'ignore': ['lm_head']}, values


class ModelOptNvfp4:
    """NVIDIA's ModelOpt: its own tensor, quantised and dequantised."""
    step = 16

    def quantise(self, state, settings, seed):
        from modelopt.torch.quantization.qtensor import NVFP4QTensor

        def quantise(name, tensor):
            made, scale, factor = NVFP4QTensor.quantize(tensor.float(), 16)
            return {'weight': made._quantized_data, 'weight_scale': scale, 'weight_scale_2': factor}

        def dequantise(parts, shape):
            made = NVFP4QTensor(torch.Size(shape), torch.float32, parts['weight'])
            values = made.dequantize(torch.float32, scale=parts['weight_scale'], double_scale=parts['weight_scale_2'], block_sizes={-1: 16})
            # The library's table has +0 for the code of -0.
            codes = torch.stack([parts['weight'] & 15, parts['weight'] >> 4], dim=-1).reshape(shape)
            return torch.where((values == 0) & (codes >= 8), -torch.zeros(()), values)

        stored, values = split(state, quantise, dequantise)
        weights = {'dynamic': False, 'num_bits': 4, 'type': 'float', 'group_size': 16}
        return stored, {'quant_method': 'modelopt', 'quant_algo': 'NVFP4', 'ignore': ['lm_head'],
                        'config_groups': {'group_0': {'targets': ['Linear'], 'weights': weights}}}, values


eight = dict(num_bits=8, type='int')
four = dict(num_bits=4, type='int')
float8 = dict(num_bits=8, type='float')
schemes = {
    'fp8-block': Fp8Block(), 'fp8-tensor': Fp8Rows('tensor'), 'fp8-channel': Fp8Rows('channel'), 'mxfp4': Mxfp4(),
    'ct-int8': CompressedTensors('int-quantized', 1, [dict(**eight, strategy='channel'), dict(**eight, strategy='tensor')]),
    'ct-int4': CompressedTensors('pack-quantized', 32, [
        dict(**four, strategy='group', group_size=32), dict(**four, strategy='channel'),
        dict(**four, strategy='group', group_size=16), dict(**eight, strategy='group', group_size=32)]),
    'ct-fp8': CompressedTensors('float-quantized', 1, [
        dict(**float8, strategy='channel'), dict(**float8, strategy='tensor'), dict(**float8, strategy='block', block_structure=[16, 24])]),
    'ct-nvfp4': CompressedTensors('nvfp4-pack-quantized', 16, [
        dict(num_bits=4, type='float', strategy='tensor_group', group_size=16)]),
    'ct-mxfp4': CompressedTensors('mxfp4-pack-quantized', 32, [dict(num_bits=4, type='float', strategy='group', group_size=32)]),
    'ct-int4-zeros': CompressedTensors('pack-quantized', 32, [
        dict(**four, symmetric=False, strategy='group', group_size=32), dict(**four, symmetric=False, strategy='channel'),
        dict(**eight, symmetric=False, strategy='group', group_size=16)]),
    'ct-int8-zeros': CompressedTensors('int-quantized', 1, [
        dict(**eight, symmetric=False, strategy='channel'), dict(**eight, symmetric=False, strategy='tensor')]),
    'modelopt-nvfp4': ModelOptNvfp4(),
    **words.schemes,
}
