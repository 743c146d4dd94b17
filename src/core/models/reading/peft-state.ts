import { join } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import type { TensorReference } from '../../tensor/reference.js';
import { changedBy } from '../adapters/changed.js';
import { parseAdapterConfig } from '../adapters/peft-config.js';
import { readAdapterTensors } from '../adapters/read-tensors.js';
import { parseAdapterTensor } from '../adapters/tensor-names.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { adapterConfigName } from '../checkpoint/files/file-names.js';
import { readSideFile } from '../checkpoint/files/small-file.js';
import { familyOf } from '../experts/family.js';
import { separated } from '../experts/separated.js';
import { dequantised } from '../quantisation/dequantised.js';
import { renamed } from './renamed.js';

/** Name parts of PEFT 0.21's module wrappers. */
const wraps = /^(base_layer|original_module|modules_to_save|token_adapter|prompt_encoder)$/;

/** Prefixes of name parts that PEFT's tuners add. */
const tuners =
  /^(lora|ia3|hada|lokr|oft|boft|vera|pvera|hra|ln_tuning|fourierft|vblora|shira|c3a|miss|bone|road|randlora|waveft|poly|trainable_tokens|delora|gralora|lily|adamss|beft|deft|frod|glora|hira|osf|peanut|psoft|shadow|supertuning|tinylora|unilora)_/;

const ownFactors = new Set(['phi4mm', 'phi4_multimodal']);

const peftPartOf = (name: string): string | undefined =>
  name.split('.').find((part) => wraps.test(part) || tuners.test(part));

const adapterNameIn = /\.(?:lora_\w+|modules_to_save)\.(?!weight$|bias$)(?<adapter>[^.]+)/;

/**
 * Returns a PEFT model's whole state as the merged model: `base_layer` with the adapter's change, by the
 * `adapter_config.json` beside it. Undefined for other checkpoints. Reads no weights.
 *
 * @param settle determines whether the base's head is its embeddings
 * @throws ADAPTER_INVALID without matching settings; ADAPTER_UNSUPPORTED for tuners other than LoRA, and for
 * several adapters; NOT_A_CHECKPOINT for factors alone
 */
export const mergedState = async (
  checkpoint: CheckpointIndex,
  names: readonly string[],
  settle: (base: CheckpointIndex) => Promise<CheckpointIndex>,
): Promise<CheckpointIndex | undefined> => {
  const { tensors, files, path, folder = path } = checkpoint;
  const found = [...tensors.keys()].find((name) => peftPartOf(name) !== undefined);
  if (found === undefined || ownFactors.has(familyOf(checkpoint))) return undefined;
  const file = itemAt(files, tensors.get(found)?.file ?? 0).path;
  const adapters = new Set(
    [...tensors.keys()].flatMap((name) => adapterNameIn.exec(name)?.groups?.['adapter'] ?? []),
  );
  if (adapters.size > 1)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file,
      what: `the state of a PEFT model with the adapters ${[...adapters].join(', ')}`,
      reason: 'does not say which of them is active',
    });
  if (!names.includes(adapterConfigName))
    throw new LayerloomError('ADAPTER_INVALID', {
      file,
      tensor: found,
      reason: `is of the state of a PEFT model (${peftPartOf(found)}), and no ${adapterConfigName} beside it says how its parts are put together`,
      remedy: `put the ${adapterConfigName} of the training beside it, or merge it in Python (merge_and_unload) and save that`,
    });
  const configFile = join(folder, adapterConfigName);
  const config = parseAdapterConfig((await readSideFile(configFile)).toString(), configFile);
  const [other] = config.tuners;
  if (other !== undefined)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file,
      what: `the state of a PEFT model with ${other.tuner.type}`,
      reason: 'is not read',
      remedy: 'save the adapter alone (save_pretrained), and give BASE+ADAPTER',
    });
  const unread = [...tensors.keys()].find((name) => /(^|\.)(token_adapter|prompt_encoder)\./.test(name));
  if (unread !== undefined)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file,
      what: `tensor ${unread}`,
      reason: 'replaces single rows of the embeddings or stands for a prompt, which is not supported',
    });
  const ofAdapter = new Map<string, TensorReference>();
  for (const [name, tensor] of tensors) {
    const { kind } = parseAdapterTensor(name);
    if (
      kind === 'a' ||
      kind === 'b' ||
      kind === 'bias' ||
      kind === 'beside' ||
      /\.modules_to_save\./.test(name)
    )
      ofAdapter.set(name, tensor);
  }
  const isOriginal = (name: string) => name.replaceAll(/\.(base_layer|original_module)(?=\.)/g, '');
  const base = renamed(checkpoint, (name) => (ofAdapter.has(name) ? undefined : isOriginal(name)));
  if (base.tensors.size === 0)
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason:
        'holds the factors of an adapter and no weights that they change; call the file adapter_model.safetensors',
    });
  const adapter = {
    checkpoint: { ...checkpoint, config: config.raw },
    config,
    ...readAdapterTensors(ofAdapter, config, file),
  };
  const whole = separated(dequantised(await settle(base)));
  const { tensors: changed, configEdits, warnings } = changedBy(whole, adapter, (reference) => reference);
  const words = 'it holds the state of a PEFT model (base_layer and factors)';
  const tied = configEdits['tie_word_embeddings'] === false ? false : whole.tied;
  return {
    ...whole,
    ...(tied === undefined ? {} : { tied }),
    tensors: changed,
    config: whole.config === undefined ? undefined : { ...whole.config, ...configEdits },
    configEdits: { ...whole.configEdits, ...configEdits },
    notAsLoaded: words,
    warnings: [
      ...whole.warnings,
      `${path}: ${words}, and is read as base_layer + s · B · A by its ${adapterConfigName}`,
      ...warnings,
    ],
  };
};
