// The forms of the catalog that model providers take: `tools --openai`,
// `tools --anthropic` and `tools --gemini` print a JSON array that can be sent as it is.

import assert from 'node:assert/strict';

import { NAME, checkObjectSchema } from './catalog.mjs';
import { TOOLS } from './cases.mjs';
import { output } from './spawn.mjs';

export async function checkForms(group, binary, world) {
  const print = async (form) => {
    const args = ['tools', form, '--config', world.config];
    const done = await output(binary, args, { cwd: world.work, env: world.env });
    assert.equal(done.code, 0, `${args.join(' ')}: ${done.stderr}`);
    const tools = JSON.parse(done.stdout);
    assert.ok(Array.isArray(tools), 'an array');
    return tools;
  };
  await group.test('tools --openai', async () => {
    const tools = await print('--openai');
    tools.forEach(checkOpenAI);
    assert.deepEqual(tools.map((tool) => tool.function.name), TOOLS);
  });
  await group.test('tools --anthropic', async () => {
    const tools = await print('--anthropic');
    tools.forEach(checkAnthropic);
    assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
  });
  await group.test('tools --gemini', async () => {
    const tools = await print('--gemini');
    tools.forEach(checkGemini);
    assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
  });
}

function checkOpenAI(tool) {
  assert.equal(tool.type, 'function');
  const { name, description, parameters } = tool.function;
  onlyKeys(tool, ['type', 'function']);
  onlyKeys(tool.function, ['name', 'description', 'parameters', 'strict']);
  checkCommon(name, description);
  assert.ok(description.length <= 1024, `${name}: description of ${description.length} characters`);
  checkObjectSchema(parameters, `${name}: parameters`);
}

function checkAnthropic(tool) {
  const { name, description, input_schema: schema } = tool;
  onlyKeys(tool, ['name', 'description', 'input_schema']);
  checkCommon(name, description);
  checkObjectSchema(schema, `${name}: input_schema`);
}

function checkGemini(tool) {
  const { name, description, parametersJsonSchema: schema } = tool;
  onlyKeys(tool, ['name', 'description', 'parametersJsonSchema']);
  checkCommon(name, description);
  checkObjectSchema(schema, `${name}: parametersJsonSchema`);
}

function checkCommon(name, description) {
  assert.match(name, NAME);
  assert.ok(description, `${name}: description`);
}

// An unknown key makes the providers refuse the request.
function onlyKeys(object, allowed) {
  for (const key of Object.keys(object)) assert.ok(allowed.includes(key), `key ${key} is one of ${allowed}`);
}
