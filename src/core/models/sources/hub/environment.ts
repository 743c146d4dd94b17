import { join } from 'node:path';
import { unlessMissing } from '../../../base/files/unless-missing.js';
import { readSmallFile } from '../../checkpoint/files/small-file.js';
import { rangeCacheRoot } from '../ranges/folder/root.js';
import { expandPath, hubCacheRoot, hubHome } from './cache/hub-cache.js';
import { withoutCredentials } from './requests/session/server-address.js';
import { variable } from './variables.js';

export interface HubEnvironment {
  /** The hub's address, without trailing slash and credentials. */
  readonly endpoint: string;
  readonly token: string | undefined;
  /** The variable or file with the token, for messages. */
  readonly tokenFrom: string | undefined;
  /** Name of the variable that forbids network access, if one is set. */
  readonly offline: string | undefined;
  readonly cache: string;
  readonly ranges: string;
  /** A connection counts as dead after this many milliseconds without a byte. */
  readonly stallMs: number;
}

const isTrue = (value: string | undefined): boolean =>
  ['1', 'on', 'yes', 'true'].includes((value ?? '').toLowerCase());

const cleaned = (token: string | undefined): string | undefined =>
  token?.replace(/[\r\n]/g, '').trim() || undefined;

type Token = Pick<HubEnvironment, 'token' | 'tokenFrom'>;

const none: Token = { token: undefined, tokenFrom: undefined };

const readToken = async (env: NodeJS.ProcessEnv): Promise<Token> => {
  if (isTrue(variable(env, 'HF_HUB_DISABLE_IMPLICIT_TOKEN'))) return none;
  for (const tokenFrom of ['HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN'] as const) {
    const token = cleaned(variable(env, tokenFrom));
    if (token !== undefined) return { token, tokenFrom };
  }
  const tokenFrom = expandPath(variable(env, 'HF_TOKEN_PATH') ?? join(hubHome(env), 'token'), env);
  const text = await unlessMissing(tokenFrom, readSmallFile(tokenFrom));
  const token = cleaned(text?.toString());
  return token === undefined ? none : { token, tokenFrom };
};

/** Default stall timeout; the hub library's 10 s are too short for slow mirrors. */
const defaultStallSeconds = 30;

/** A day: timers allow at most a month, and some time limits are multiples of this constant. */
const mostStallSeconds = 86_400;

export const hubEnvironment = async (env: NodeJS.ProcessEnv = process.env): Promise<HubEnvironment> => {
  const seconds = Number(variable(env, 'HF_HUB_DOWNLOAD_TIMEOUT'));
  return {
    endpoint: withoutCredentials(variable(env, 'HF_ENDPOINT') || 'https://huggingface.co'),
    ...(await readToken(env)),
    offline: (['HF_HUB_OFFLINE', 'TRANSFORMERS_OFFLINE'] as const).find((name) =>
      isTrue(variable(env, name)),
    ),
    cache: hubCacheRoot(env),
    ranges: rangeCacheRoot(env),
    stallMs: Math.min(seconds > 0 ? seconds : defaultStallSeconds, mostStallSeconds) * 1000,
  };
};
