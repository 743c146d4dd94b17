import type { SettingWords } from '../../../base/errors/setting.js';

// Environment variables for the hub and its files, mostly the hub library's. A plain object, so that reading
// them does not load zod.

export const hubVariables = {
  HF_TOKEN: {
    meaning: 'The token, for private and gated models and for `push`.',
    otherwise: 'the file of the token',
  },
  HUGGING_FACE_HUB_TOKEN: { meaning: 'The older name of `HF_TOKEN`.' },
  HF_TOKEN_PATH: {
    meaning: 'The file of the token, which `hf auth login` writes.',
    otherwise: '`$HF_HOME/token`',
  },
  HF_HUB_DISABLE_IMPLICIT_TOKEN: { meaning: '`1`: no token is sent.' },
  HF_ENDPOINT: {
    meaning: 'Another hub or a mirror, without user name and password.',
    otherwise: '`https://huggingface.co`',
  },
  HF_HOME: {
    meaning: "The directory of the hub's cache and of the token.",
    otherwise: '`$XDG_CACHE_HOME/huggingface`, else `~/.cache/huggingface`',
  },
  HF_HUB_CACHE: { meaning: "Folder of the hub's cache.", otherwise: '`$HF_HOME/hub`' },
  HUGGINGFACE_HUB_CACHE: { meaning: 'The older name of `HF_HUB_CACHE`.' },
  LAYERLOOM_CACHE: {
    meaning: 'Folder for ranges of weights.',
    otherwise: '`$HF_HOME/layerloom`',
  },
  HF_HUB_OFFLINE: { meaning: '`1`: the hub is asked nothing, also with `--download`.' },
  TRANSFORMERS_OFFLINE: { meaning: 'The same.' },
  HF_HUB_DOWNLOAD_TIMEOUT: {
    meaning:
      'A connection is made again after so many seconds without data (of weights: with less than 1 KiB a second).',
    otherwise: '`30`',
  },
  HTTPS_PROXY: { meaning: 'A proxy.' },
  HTTP_PROXY: { meaning: 'A proxy for a hub at `http://`.' },
  ALL_PROXY: { meaning: 'A proxy where neither is set.' },
  NO_PROXY: { meaning: 'Hosts that are asked without the proxy.' },
} as const satisfies Readonly<Record<string, SettingWords>>;

export type HubVariable = keyof typeof hubVariables;

export const variable = (env: NodeJS.ProcessEnv, name: HubVariable): string | undefined => env[name];
