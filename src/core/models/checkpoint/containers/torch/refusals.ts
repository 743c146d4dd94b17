import { LayerloomError } from '../../../../base/errors/errors.js';

export const invalidTorchFile = (file: string, reason: string): LayerloomError =>
  new LayerloomError('HEADER_INVALID', { file, reason });

/** True for verl's file of one process, which holds parts of tensors if there are several processes. */
export const isOfRank = (file: string): boolean => ofRank.test(file);

const ofRank = /\bmodel_world_size_\d+_rank_\d+\.pt$/;

/** Name of verl's file if there is only one process. */
export const fileOfOnlyRank = 'model_world_size_1_rank_0.pt';

export const joinRanks =
  'if you trust them, join them with python -m verl.model_merger merge --backend fsdp --local_dir FOLDER --target_dir DIR, and give DIR';

const remedies: readonly (readonly [file: RegExp, remedy: string])[] = [
  [ofRank, joinRanks],
  [
    /_states\.pt$/,
    'if you trust it, convert it with the zero_to_fp32.py that DeepSpeed saved above its folder (python zero_to_fp32.py . DIR), and give DIR',
  ],
  [
    /\.(distcp|metadata)$/,
    'if you trust it, convert its folder with python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER FILE, and give that file',
  ],
];

/** Returns the error for a file that PyTorch can read and this reader cannot. */
export const unsupported = (file: string, reason: string, tensor?: string): LayerloomError =>
  new LayerloomError('WEIGHTS_UNSUPPORTED', {
    file,
    ...(tensor === undefined ? {} : { tensor }),
    reason,
    remedy:
      remedies.find(([pattern]) => pattern.test(file))?.[1] ??
      (tensor === undefined
        ? 'if you trust it, load it with torch.load(file, weights_only=True) and save its tensors with safetensors.torch.save_file'
        : 'load it with torch.load(file, weights_only=True) and save it with safetensors.torch.save_file after .contiguous()'),
  });
