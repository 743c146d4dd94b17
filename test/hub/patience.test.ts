import { describe, expect, it } from 'vitest';
import { retryAfter } from '../../src/sources/hub/requests/patience.js';

describe('the time after which a server wants to be asked again', () => {
  const now = Date.parse('2026-01-02T03:04:05Z');
  it.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': 'Fri, 02 Jan 2026 03:05:05 GMT' }, 60_000],
    [{ 'retry-after': 'Fri, 02 Jan 2026 03:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{ ratelimit: '"api";r=0;t=55' }, 55_000],
    [{ ratelimit: '"api";r=12;t=55' }, undefined],
    [{}, undefined],
  ])('of %j is %j ms', (headers, ms) => {
    expect(retryAfter(headers as Record<string, string>, now)).toBe(ms);
  });
});
