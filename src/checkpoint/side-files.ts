import { readdir } from 'node:fs/promises';

/** What stands beside weights and belongs to the model: read by transformers, vLLM and llama.cpp, or its licence. */
const patterns: readonly RegExp[] = [
  /^config\.json$/,
  /^params\.json$/,
  /^generation_config\.json$/,
  /^tokenizer.*\.(json|model)$/,
  /^(special_tokens_map|added_tokens|vocab|tekken)\.json$/,
  /^(merges|vocab)\.txt$/,
  /^(sentencepiece.*|spiece|.*\.tiktoken)(\.model)?$/,
  /^chat_template\.(jinja|json)$/,
  /^.*\.jinja$/,
  /^(video_)?(pre)?processor_config\.json$/,
  /^(configuration|modeling|tokenization|processing)_.*\.py$/,
  /^(LICEN[CS]E|NOTICE|USE_POLICY)/i,
];

/** The names of a checkpoint directory's side files, sorted. Weights, training state and the model card are none. */
export const listSideFiles = async (directory: string): Promise<string[]> => {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory() && patterns.some((pattern) => pattern.test(entry.name)))
    .map((entry) => entry.name)
    .sort();
};
