import { settingsText } from '../settings/settings.js';
import type { TrainingRun } from '../settings/training-run.js';

/** Returns `accelerate`'s configuration, which shards the model over devices. */
export const accelerateConfig = ({ devices, cpu }: TrainingRun): string =>
  settingsText(
    [
      'Shards weights, gradients and optimiser state over the devices of one machine (FSDP 2).',
      'Ours: full fine-tuning of 8B in float32 needs 16 bytes a parameter, 128 GB in all.',
    ],
    [
      {
        title: 'accelerate',
        settings: [
          ['compute_environment', 'LOCAL_MACHINE'],
          ['distributed_type', 'FSDP'],
          [
            'fsdp_config',
            {
              fsdp_version: 2,
              fsdp_auto_wrap_policy: 'TRANSFORMER_BASED_WRAP',
              fsdp_reshard_after_forward: true,
              fsdp_cpu_ram_efficient_loading: true,
              fsdp_activation_checkpointing: false,
              fsdp_offload_params: false,
              fsdp_state_dict_type: 'FULL_STATE_DICT',
            },
          ],
          ['mixed_precision', cpu ? 'no' : 'bf16'],
          ['num_machines', 1],
          ['num_processes', devices],
          ['machine_rank', 0],
          ['main_training_function', 'main'],
          ['rdzv_backend', 'static'],
          ['same_network', true],
          ['use_cpu', cpu],
          ['debug', false],
        ],
      },
    ],
  );
