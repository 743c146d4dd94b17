import { pipeline, type Readable } from 'node:stream';
import { createUnzip } from 'node:zlib';
import { parseJson as parseText } from '../../../../texts/json.js';
import { type Answer, hostOf, isPage, pageError } from './send.js';
import { BadAnswerError, networkError } from './session/patience.js';
import type { HubSession } from './session/session.js';
import { unavailable } from './session/unavailable.js';

export const jsonHeaders = { accept: 'application/json', 'accept-encoding': 'gzip' };

/** Maximum size of an API answer. A page lists up to a thousand files, far below it. */
const mostBytes = 64 * 1024 * 1024;

/** Time limit for a whole answer, in multiples of the stall timeout. */
const mostStalls = 10;

const decoded = (answer: Answer): Readable => {
  const coding = answer.headers['content-encoding'] ?? 'identity';
  if (coding === 'identity') return answer.body;
  if (!/^(x-)?(gzip|deflate)$/.test(coding))
    throw new BadAnswerError(`${hostOf(answer.url)} sends an answer with content-encoding: ${coding}`);
  return pipeline(answer.body, createUnzip(), () => {});
};

/**
 * Reads an answer's decompressed bytes.
 *
 * @param most limits on bytes, and on time in stall timeouts
 * @throws HUB_UNAVAILABLE if the answer does not end; TransientError
 */
export const readAll = async (
  hub: HubSession,
  answer: Answer,
  most = { bytes: mostBytes, stalls: mostStalls },
): Promise<Buffer> => {
  const endless = unavailable(hub, `${hostOf(answer.url)} sends an answer that does not end`);
  const timer = setTimeout(() => answer.body.destroy(endless), most.stalls * hub.environment.stallMs);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of decoded(answer) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > most.bytes) throw endless;
    }
  } catch (error) {
    answer.body.on('error', () => {}).destroy();
    if (/^Z_/.test((error as NodeJS.ErrnoException).code ?? ''))
      throw new BadAnswerError(`${hostOf(answer.url)} sends what is not compressed as it says`, {
        cause: error,
      });
    throw networkError(hub, hostOf(answer.url), error);
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks);
};

/**
 * Parses an answer's JSON.
 *
 * @throws HUB_UNAVAILABLE for an HTML page; TransientError for other invalid JSON
 */
export const parseJson = (hub: HubSession, answer: Answer, text: string): unknown => {
  if (isPage(answer.headers) || text.trimStart().startsWith('<'))
    throw pageError(hub, answer.url, answer.status);
  try {
    return parseText(text);
  } catch (cause) {
    throw new BadAnswerError(`${hostOf(answer.url)} sends what is not JSON`, { cause });
  }
};
