import { describe, expect, it } from 'vitest';
import { Hashing } from '../../src/core/engine/threads/hashing.js';

describe('hashing beside other work', () => {
  it('begins a file at once that something waits for, and keeps another until there are two', () => {
    const begun: number[][] = [];
    const hashing = new Hashing({
      idle: () => 0,
      hash: (files) => {
        begun.push(files.map(({ fd }) => fd));
        return new Promise(() => undefined);
      },
      checksum: () => Promise.resolve(undefined),
    });
    void hashing.add(1, false);
    void hashing.add(2, true);
    expect(begun).toEqual([[1]]);
    void hashing.add(3, true);
    expect(begun).toEqual([[1], [2, 3]]);
  });
});
