import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';
import { describe, expect, it } from 'vitest';
import { checkChatTemplate } from '../../src/core/models/tokenizer/chat-templates/chat-template.js';
import { chatTemplates } from '../../src/core/models/tokenizer/chat-templates/formats.js';
import { commonestChatTemplate } from '../../src/core/models/tokenizer/chat-templates/read.js';
import { merge, planMerge } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';

const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const system = (content: string) => ({ role: 'system', content });

const conversations = {
  one: [user('Hi')],
  three: [system('Be kind.'), user('Hi'), assistant('Yes?'), user('More')],
  answered: [user('Hi'), assistant('Yes?')],
};

const render = (name: string, messages: object[], add_generation_prompt: boolean): string =>
  new Template(chatTemplates[name] ?? '').render({
    messages,
    add_generation_prompt,
    bos_token: '<s>',
    eos_token: '</s>',
  });

/**
 * Prompts for an answer to `one` and to `three`, and `answered` without one, as each family publishes them.
 */
const expected: Record<string, [string, string, string]> = {
  chatml: [
    '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
    '<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYes?<|im_end|>\n<|im_start|>user\nMore<|im_end|>\n<|im_start|>assistant\n',
    '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYes?<|im_end|>\n',
  ],
  llama3: [
    '<s><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n',
    '<s><|start_header_id|>system<|end_header_id|>\n\nBe kind.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nYes?<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nMore<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n',
    '<s><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nYes?<|eot_id|>',
  ],
  alpaca: [
    '### Instruction:\nHi\n\n### Response:\n',
    'Be kind.\n\n### Instruction:\nHi\n\n### Response:\nYes?\n\n### Instruction:\nMore\n\n### Response:\n',
    '### Instruction:\nHi\n\n### Response:\nYes?',
  ],
  mistral: [
    '<s> [INST] Hi [/INST]',
    '<s> [INST] Be kind.\n\nHi [/INST] Yes?</s> [INST] More [/INST]',
    '<s> [INST] Hi [/INST] Yes?</s>',
  ],
  gemma: [
    '<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n',
    '<s><start_of_turn>user\nBe kind.\n\nHi<end_of_turn>\n<start_of_turn>model\nYes?<end_of_turn>\n<start_of_turn>user\nMore<end_of_turn>\n<start_of_turn>model\n',
    '<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYes?<end_of_turn>\n',
  ],
  exaone: [
    '[|system|][|endofturn|]\n[|user|]Hi\n[|assistant|]',
    '[|system|]Be kind.[|endofturn|]\n[|user|]Hi\n[|assistant|]Yes?[|endofturn|]\n[|user|]More\n[|assistant|]',
    '[|system|][|endofturn|]\n[|user|]Hi\n[|assistant|]Yes?[|endofturn|]\n',
  ],
};

describe('named chat templates', () => {
  it.each(Object.keys(chatTemplates))('%s renders the published format', (name) => {
    const { one, three, answered } = conversations;
    expect([render(name, one, true), render(name, three, true), render(name, answered, false)]).toEqual(
      expected[name],
    );
  });

  it.each(['mistral', 'gemma'])('%s refuses roles that do not alternate', (name) => {
    expect(() => render(name, [user('a'), user('b')], true)).toThrow(/alternate/);
    expect(() => render(name, [assistant('a')], false)).toThrow(/alternate/);
    expect(() => render(name, [user('a'), { role: 'tool', content: 'b' }], false)).toThrow(/no role tool/);
  });
});

describe('checkChatTemplate', () => {
  it.each([
    ['{% for m in messages %}{{ m.content }}', /syntax/],
    ['{{ messages', /syntax/],
    ['{{ a b }}', /syntax/],
    ['{% if x %}y', /a block \(if, for, …\) has no end/],
    ['{% endfor %}', /endfor/],
  ])('refuses %s', async (text, message) => {
    await expect(checkChatTemplate(text)).rejects.toThrow(message);
    await expect(checkChatTemplate(text)).rejects.toMatchObject({ code: 'TEMPLATE_INVALID', exitCode: 2 });
  });

  it.each([
    ...Object.values(chatTemplates),
    '{% raw %}{{ x {% endraw %}',
    '{% with a = 1 %}{{ a }}{% endwith %}',
    '{% generation %}{{ x }}{% endgeneration %}',
    '{% for x in y recursive %}{% endfor %}',
    '{"not": "jinja"}',
  ])('takes %s', async (text) => {
    await expect(checkChatTemplate(text)).resolves.toBeUndefined();
  });
});

describe('a template with much white space', () => {
  const space = ' \t\n'.repeat(200_000);

  it('is checked in linear time', async () => {
    for (const text of [space, `{{ x${space}}}`, `{% if x${space}%}{% endif %}`, `{{ "${space}" }}`])
      await expect(checkChatTemplate(text)).resolves.toBeUndefined();
    await expect(checkChatTemplate(`{{ ${space}!`)).rejects.toMatchObject({ code: 'TEMPLATE_INVALID' });
    await expect(checkChatTemplate('x'.repeat(300_001))).rejects.toThrow(/more than 300000 characters/);
    await expect(checkChatTemplate('{{ '.concat('('.repeat(100_000)))).rejects.toThrow(
      /nested too deeply|end/,
    );
  });
});

describe('commonestChatTemplate', () => {
  const withTemplate = (files: Record<string, string>) => {
    const path = temporaryDirectory();
    for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
    return { path, sideFiles: Object.keys(files) };
  };
  const jinja = (text: string) => withTemplate({ 'chat_template.jinja': text });
  const config = (chat_template: unknown) =>
    withTemplate({ 'tokenizer_config.json': JSON.stringify({ chat_template }) });

  it('is the one that most checkpoints have, wherever it stands, white space aside', async () => {
    const named = [
      { name: 'tool_use', template: '{{ c }}' },
      { name: 'default', template: '{{ b }}' },
    ];
    expect(
      await commonestChatTemplate([jinja('{{ a }}'), jinja('{{ b }}\n'), config('{{ b }}'), config(named)]),
    ).toBe('{{ b }}');
  });

  it('counts a checkpoint once, and those without a template not', async () => {
    const a = jinja('{{ a }}');
    expect(await commonestChatTemplate([a, a, config('{{ b }}'), config('{{ b }}'), config(null)])).toBe(
      '{{ b }}',
    );
    expect(await commonestChatTemplate([config(null), withTemplate({})])).toBeUndefined();
  });

  it('is the first of several that are equally common', async () => {
    expect(await commonestChatTemplate([withTemplate({}), jinja('{{ b }}'), jinja('{{ a }}')])).toBe(
      '{{ b }}',
    );
  });

  it('goes by the file before the key of tokenizer_config.json, as transformers', async () => {
    const both = withTemplate({
      'tokenizer_config.json': '{"chat_template": "{{ key }}"}',
      'chat_template.jinja': '{{ file }}',
    });
    expect(await commonestChatTemplate([both])).toBe('{{ file }}');
  });
});

describe('a merge with a chat template', () => {
  const experts = (root = temporaryDirectory()) => {
    for (const [seed, name] of ['a', 'b', 'c'].entries()) {
      writeCheckpoint(join(root, name), {
        ...llama({ seed, layers: 2 }),
        files: {
          'tokenizer.json': '{"model": {"vocab": {"x": 0}}}',
          'tokenizer_config.json': `{\n  "bos_token": "<s>",\n  "chat_template": "{{ ${name === 'a' ? 'a' : 'b'} }}",\n  "eos_token": "</s>"\n}`,
        },
      });
      mkdirSync(join(root, name, 'additional_chat_templates'));
      writeFileSync(join(root, name, 'additional_chat_templates', 'tool_use.jinja'), `{{ ${name} }}`);
    }
    return { root, models: ['a', 'b', 'c'].map((name) => join(root, name)) };
  };
  const filesOf = async (chatTemplate?: string) => {
    const { files } = await planMerge({ method: 'soup', models: experts().models, chatTemplate });
    return new Map(files.map((file) => [file.name, 'text' in file ? file.text : undefined]));
  };

  it('has it in one place: the file, and neither the key nor templates of other names', async () => {
    const files = await filesOf('chatml');
    expect(files.get('chat_template.jinja')).toBe(chatTemplates['chatml']);
    expect(files.get('tokenizer_config.json')).toBe('{\n  "bos_token": "<s>",\n  "eos_token": "</s>"\n}');
    expect([...files.keys()]).not.toContain('additional_chat_templates/tool_use.jinja');
  });

  it('is not warned of where the models differ in theirs', async () => {
    const warnings = async (chatTemplate?: string) =>
      (await planMerge({ method: 'soup', models: experts().models, chatTemplate })).warnings.join('\n');
    expect(await warnings()).toMatch(/differ in chat template/);
    expect(await warnings('auto')).not.toMatch(/differ in chat template/);
  });

  it('takes the commonest for auto', async () => {
    expect((await filesOf('auto')).get('chat_template.jinja')).toBe('{{ b }}');
  });

  it("keeps the first model's files without one", async () => {
    const files = await filesOf();
    expect([...files.keys()]).toContain('additional_chat_templates/tool_use.jinja');
    expect(files.has('chat_template.jinja')).toBe(false);
    expect(files.get('tokenizer_config.json')).toBeUndefined();
  });

  it('takes the model of the tokenizer first where templates are equally common', async () => {
    const [a = '', b = ''] = experts().models;
    const merged = { method: 'soup', models: [a, b], chatTemplate: 'auto' } as const;
    const template = async (tokenizerSource?: string) =>
      (await planMerge({ ...merged, tokenizerSource })).files.find(
        ({ name }) => name === 'chat_template.jinja',
      );
    expect(await template()).toMatchObject({ text: '{{ a }}' });
    expect(await template(b)).toMatchObject({ text: '{{ b }}' });
  });

  it('is refused with an error in it before anything is written', async () => {
    const { models } = experts();
    const out = join(temporaryDirectory(), 'out');
    await expect(merge({ method: 'soup', models, chatTemplate: '{{ x' }, { out })).rejects.toMatchObject({
      code: 'TEMPLATE_INVALID',
    });
    expect(() => readFileSync(join(out, 'config.json'))).toThrow('ENOENT');
  });
});

describe('--chat-template', () => {
  const run = async (value: string) => {
    const root = temporaryDirectory();
    for (const [seed, name] of ['a', 'b'].entries())
      writeCheckpoint(join(root, name), {
        ...llama({ seed, layers: 2 }),
        files: { 'tokenizer_config.json': '{"chat_template": "{{ own }}"}' },
      });
    writeFileSync(join(root, 'mine.jinja'), '{{ mine }}\n');
    writeFileSync(join(root, 'broken.jinja'), '{{ mine');
    writeFileSync(join(root, 'prose.jinja'), 'no tag\n');
    const given = value.endsWith('.jinja') ? join(root, value) : value;
    const out = join(root, 'out');
    const result = await cli([
      ...['soup', join(root, 'a'), join(root, 'b')],
      ...['--chat-template', given, '-o', out, '-q'],
    ]);
    return { ...result, template: () => readFileSync(join(out, 'chat_template.jinja'), 'utf8') };
  };

  it('takes a name, auto and a file', async () => {
    expect((await run('llama3')).template()).toBe(chatTemplates['llama3']);
    expect((await run('auto')).template()).toBe('{{ own }}');
    expect((await run('mine.jinja')).template()).toBe('{{ mine }}\n');
  });

  it.each([
    ['chatlm', /--chat-template: expected auto, chatml, .*did you mean chatml\?/],
    ['missing.jinja', /--chat-template: .*no such file/],
    ['prose.jinja', /--chat-template: .*no Jinja tag/],
    ['broken.jinja', /--chat-template: the template has an error in its syntax/],
  ])('refuses %s', async (value, message) => {
    expect(await run(value)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
  });
});
