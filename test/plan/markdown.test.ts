import { describe, expect, it } from 'vitest';
import { markdownText, tableRow } from '../../src/core/plan/card/markdown.js';

describe('text in Markdown', () => {
  it.each([
    ['</script><script>alert(1)</script>', '&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;'],
    ['<img src=x>', '&lt;img src=x&gt;'],
    ['&lt;b&gt;', '&amp;lt;b&amp;gt;'],
    ['a|b', 'a\\|b'],
    ['`code` [x](javascript:1)', '\\`code\\` \\[x\\](javascript:1)'],
    ['**bold** _it_ # ~x~ \\', '\\*\\*bold\\*\\* \\_it\\_ \\# \\~x\\~ \\\\'],
    ['swh_1 × math-1', 'swh_1 × math-1'],
    ['a\nb', 'a\\\\u000ab'],
  ])('has %j as it is', (text, expected) => {
    expect(markdownText(text)).toBe(expected);
  });

  it('stays in its column', () => {
    expect(tableRow('a | b', '<b>')).toBe('| a \\| b | &lt;b&gt; |');
  });
});
