/** Removes this file's indentation; tags strip the white space around them. */
const template = (text: string): string => text.replace(/^\n/, '').replace(/^ {4}/gm, '');

const alternating = `{%- if (message.role == 'user') != (loop.index0 % 2 == 0) -%}
        {{- raise_exception('turns of user and assistant must alternate, beginning with user') -}}
      {%- endif -%}`;

/** For formats without a system role: separates a system message (`first`) from the turns. */
const systemApart = `{%- set first = messages[0] if messages else {} -%}
    {%- set turns = messages[1:] if first.role == 'system' else messages -%}`;

/** Chat templates by mergekit's names, and gemma, each as published by its family. */
export const chatTemplates: Readonly<Record<string, string>> = {
  /** OpenAI's ChatML, used by Qwen, Yi, Hermes and others; without a begin-of-sequence token. */
  chatml: template(`
    {%- for message in messages -%}
      {{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' -}}
    {%- endfor -%}
    {%- if add_generation_prompt -%}
      {{- '<|im_start|>assistant\\n' -}}
    {%- endif -%}`),

  /** Llama 3 (Meta's model card), with nothing between a turn's end and the next header. */
  llama3: template(`
    {{- bos_token -}}
    {%- for message in messages -%}
      {{- '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\\n\\n' -}}
      {{- message.content | trim ~ '<|eot_id|>' -}}
    {%- endfor -%}
    {%- if add_generation_prompt -%}
      {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
    {%- endif -%}`),

  /** Stanford Alpaca: sections with headings. A system message replaces Alpaca's own first sentence. */
  alpaca: template(`
    {%- set headings = {'user': '### Instruction:\\n', 'user_context': '### Input:\\n', 'assistant': '### Response:\\n', 'system': ''} -%}
    {%- for message in messages -%}
      {%- if message.role not in headings -%}
        {{- raise_exception('alpaca has no role ' ~ message.role) -}}
      {%- endif -%}
      {%- if not loop.first -%}
        {{- '\\n\\n' -}}
      {%- endif -%}
      {{- headings[message.role] ~ message.content | trim -}}
    {%- endfor -%}
    {%- if add_generation_prompt and messages[-1].role != 'assistant' -%}
      {{- '\\n\\n### Response:\\n' -}}
    {%- endif -%}`),

  /** Mistral 7B Instruct v0.1 and v0.2: the system message opens the first instruction. */
  mistral: template(`
    ${systemApart}
    {{- bos_token -}}
    {%- for message in turns -%}
      ${alternating}
      {%- if message.role == 'user' -%}
        {{- ' [INST] ' -}}
        {%- if loop.first and first.role == 'system' -%}
          {{- first.content ~ '\\n\\n' -}}
        {%- endif -%}
        {{- message.content ~ ' [/INST]' -}}
      {%- elif message.role == 'assistant' -%}
        {{- ' ' ~ message.content ~ eos_token -}}
      {%- else -%}
        {{- raise_exception('mistral has no role ' ~ message.role) -}}
      {%- endif -%}
    {%- endfor -%}`),

  /** Gemma: roles user and model; the system message opens the user's first turn. */
  gemma: template(`
    ${systemApart}
    {{- bos_token -}}
    {%- for message in turns -%}
      ${alternating}
      {%- if message.role not in ['user', 'assistant'] -%}
        {{- raise_exception('gemma has no role ' ~ message.role) -}}
      {%- endif -%}
      {{- '<start_of_turn>' ~ ('user' if message.role == 'user' else 'model') ~ '\\n' -}}
      {%- if loop.first and first.role == 'system' -%}
        {{- first.content | trim ~ '\\n\\n' -}}
      {%- endif -%}
      {{- message.content | trim ~ '<end_of_turn>\\n' -}}
    {%- endfor -%}
    {%- if add_generation_prompt -%}
      {{- '<start_of_turn>model\\n' -}}
    {%- endif -%}`),

  /** EXAONE 3: begins with a system turn, which may be empty; user turns have no end token. */
  exaone: template(`
    {%- if not messages or messages[0].role != 'system' -%}
      {{- '[|system|][|endofturn|]\\n' -}}
    {%- endif -%}
    {%- for message in messages -%}
      {{- '[|' ~ message.role ~ '|]' ~ message.content -}}
      {{- '\\n' if message.role == 'user' else '[|endofturn|]\\n' -}}
    {%- endfor -%}
    {%- if add_generation_prompt -%}
      {{- '[|assistant|]' -}}
    {%- endif -%}`),
};
