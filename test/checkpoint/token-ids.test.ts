import { expect, it } from 'vitest';
import { idsOfUses, vocabularyEdits } from '../../src/core/models/checkpoint/config/token-ids.js';

/** Ten tokens become twelve, each two ids later; token 3 is removed. */
const move = { from: 10, to: 12, idOf: (id: number) => (id === 3 || id > 9 ? undefined : id + 2) };

it.each([
  // Whisper
  [
    {
      forced_decoder_ids: [
        [1, null],
        [2, 5],
        [3, 3],
      ],
    },
    {
      forced_decoder_ids: [
        [1, null],
        [2, 7],
      ],
    },
  ],
  [{ lang_to_id: { '<|en|>': 4, '<|zz|>': 3 } }, { lang_to_id: { '<|en|>': 6 } }],
  [{ task_to_id: { transcribe: 5 } }, { task_to_id: { transcribe: 7 } }],
  [{ suppress_tokens: [1, 3, 4], begin_suppress_tokens: [-1] }, { suppress_tokens: [3, 6] }],
  // generation_config.json
  [{ bad_words_ids: [[1, 3], [4]] }, { bad_words_ids: [[6]] }],
  [{ force_words_ids: [[[1, 2], [4]], [[3]]] }, { force_words_ids: [[[3, 4], [6]]] }],
  [
    {
      sequence_bias: [
        [[1, 2], -5],
        [[3], 1],
      ],
    },
    { sequence_bias: [[[3, 4], -5]] },
  ],
  // XLM, and others that do not say "token"
  [
    { pad_index: 2, n_langs: 2, im_start_id: 4, eos_token_id: 3 },
    { pad_index: 4, im_start_id: 6, eos_token_id: null },
  ],
])('moves the ids of %j', (config, edits) => {
  expect(vocabularyEdits(config, move)).toEqual(edits);
});

it('moves vocabulary and ids of an encoder, a decoder and a thinker, and of a talker only ids of text', () => {
  const config = {
    encoder: { vocab_size: 10, pad_token_id: 1 },
    decoder: { vocab_size: 7, pad_token_id: 1 },
    vision_config: { hidden_size: 8, bos_token_id: 1 },
    thinker_config: { audio_token_index: 9, text_config: { vocab_size: 10, pad_token_id: 1 } },
    talker_config: { vocab_size: 5, tts_codec_pad_token_id: 4, audio_token_index: 9 },
  };
  expect(vocabularyEdits(config, move)).toEqual({
    encoder: { vocab_size: 12, pad_token_id: 3 },
    thinker_config: { audio_token_index: 11, text_config: { vocab_size: 12, pad_token_id: 3 } },
    talker_config: { ...config.talker_config, audio_token_index: 11 },
  });
});

it('says the size that a text_config leaves out, but adds none to a configuration of no vocabulary', () => {
  expect(vocabularyEdits({ text_config: { hidden_size: 8 } }, move)).toEqual({
    text_config: { hidden_size: 8, vocab_size: 12 },
  });
  expect(vocabularyEdits({ text_config: { hidden_size: 8 } }, { ...move, to: 10 })).toEqual({});
  expect(vocabularyEdits({ temperature: 1 }, move)).toEqual({});
});

it('finds the ids of special tokens that only the language model’s configuration has', () => {
  const config = {
    eos_token_id: [1, 2],
    pad_token_id: null,
    text_config: { eos_token_id: 1, pad_token_id: 0 },
  };
  expect(idsOfUses(config)).toEqual({ eos_token_id: [1, 2], pad_token_id: 0 });
});
