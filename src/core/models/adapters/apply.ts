import { originOf } from '../address/found-model.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isTokenizerFile } from '../checkpoint/side-files.js';
import type { Adapter } from './adapter.js';
import { changedBy } from './changed.js';

/**
 * Returns a base with an adapter as one checkpoint: the base's files, then the adapter's. An adapter's
 * tokenizer replaces the base's. Reads no weights.
 *
 * @throws as `changedBy`
 */
export const applyAdapter = (base: CheckpointIndex, adapter: Adapter, config: string): CheckpointIndex => {
  const { checkpoint } = adapter;
  const { tensors, configEdits, replaced, warnings } = changedBy(base, adapter, (reference) => ({
    ...reference,
    file: reference.file + base.files.length,
  }));
  const sideFiles = checkpoint.sideFiles.filter(isTokenizerFile);
  // A saved tokenizer is complete, so the base's tokenizer files are left out.
  const hasTokenizer = sideFiles.some((name) => /^(tokenizer\.(json|model)|vocab\.json)$/.test(name));
  const kept = base.sideFiles.filter((name) => !(hasTokenizer && isTokenizerFile(name)));
  const location = (of: CheckpointIndex) => ({ name: of.name, path: of.path, ...originOf(of) });
  const edits = { ...base.configEdits, ...configEdits };
  const tied = edits['tie_word_embeddings'] === false ? false : base.tied;
  return {
    name: checkpoint.name,
    path: `${base.path}+${checkpoint.path}`,
    folder: base.folder ?? base.path,
    files: [...base.files, ...checkpoint.files],
    metadata: [...base.metadata, ...checkpoint.metadata],
    tensors,
    ...(base.stored === undefined ? {} : { stored: base.stored }),
    config: base.config === undefined ? undefined : { ...base.config, ...configEdits },
    ...(base.configGiven === undefined ? {} : { configGiven: base.configGiven }),
    configEdits: edits,
    ...(tied === undefined ? {} : { tied }),
    ...(base.copies === undefined ? {} : { copies: base.copies }),
    ...(base.notAsLoaded === undefined ? {} : { notAsLoaded: base.notAsLoaded }),
    sideFiles: [...new Set([...kept, ...sideFiles])].sort(),
    ...(base.carried === undefined ? {} : { carried: base.carried }),
    ...(base.quantisation === undefined ? {} : { quantisation: base.quantisation }),
    ...(base.fusedExperts === undefined ? {} : { fusedExperts: base.fusedExperts }),
    adapted: {
      base: location(base),
      adapter: location(checkpoint),
      config,
      folder: checkpoint.folder ?? checkpoint.path,
      sideFiles,
      foreignFiles: [
        ...new Set(replaced.flatMap((name) => base.tensors.get(name)?.file ?? [])),
        ...checkpoint.files.map((_, file) => base.files.length + file),
      ],
    },
    warnings: [...base.warnings, ...checkpoint.warnings, ...warnings],
  };
};
