"""Each scheme: `quantise(state, settings, seed)` returns stored tensors, `quantization_config`, and what the scheme's own
dequantiser makes of the stored tensors in float32."""
import torch
from transformers.integrations.finegrained_fp8 import Fp8Dequantize

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
    """transformers' FineGrainedFP8, for blocks that DeepSeek's kernels cut at the matrix's edge too."""
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


schemes = {'fp8-block': Fp8Block(), 'fp8-tensor': Fp8Rows('tensor'), 'fp8-channel': Fp8Rows('channel')}
