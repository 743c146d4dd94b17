import { describe, expect, it } from 'vitest';
import { StatusLine } from '../../src/cli/work/running/status-line.js';
import { visibleLine } from '../../src/core/base/errors/visible.js';

const streamOf = (columns?: number) => {
  const written: string[] = [];
  const stream = { isTTY: columns !== undefined, columns, write: (text: string) => written.push(text) > 0 };
  return { written, stream: stream as unknown as NodeJS.WriteStream };
};

describe('a line of state', () => {
  it('is printed where its subject changes and once a minute, if stderr is no terminal', () => {
    const { written, stream } = streamOf();
    let now = 0;
    const line = new StatusLine(stream, () => now);
    const show = (seconds: number, text: string, subject: string) => {
      now = 1000 * seconds;
      line.show(text, subject);
    };
    show(0, 'a 1', 'a');
    show(1, 'a 2', 'a');
    show(59, 'a 3', 'a');
    show(60, 'a 4', 'a');
    show(61, 'b 1', 'b');
    show(200, 'b 1', 'b');
    line.end();
    expect(written).toEqual(['a 1\n', 'a 4\n', 'b 1\n']);
  });

  it('is written over on a terminal, cut to its width, and left as a line in the end', () => {
    const { written, stream } = streamOf(10);
    const line = new StatusLine(stream, () => 0);
    line.show('short', 'a');
    line.show('much longer than that', 'a');
    line.show('a\nb', 'a');
    line.end();
    expect(written).toEqual(['\r\x1b[Kshort', '\r\x1b[Kmuch lon…', `\r\x1b[K${visibleLine('a\nb')}`, '\n']);
  });

  it('says nothing at the end where it had nothing to show', () => {
    const { written, stream } = streamOf(80);
    new StatusLine(stream).end();
    expect(written).toEqual([]);
  });
});
