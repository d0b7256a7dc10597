// What every listed tool must have, whatever it does.

import assert from 'node:assert/strict';

export const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const ANNOTATIONS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];
const COMBINATORS = ['oneOf', 'anyOf', 'allOf'];

// checkNames compares a listing with the names it must have, in order.
export function checkNames(tools, want) {
  const names = tools.map((tool) => tool.name);
  assert.deepEqual(names, [...names].sort(), 'tools are sorted by name');
  assert.deepEqual(names, [...want].sort());
}

// checkTool checks one entry of tools/list.
export function checkTool(tool) {
  assert.match(tool.name, NAME);
  assert.ok(tool.title, 'title');
  assert.ok(tool.description, 'description');
  for (const hint of ANNOTATIONS) {
    assert.equal(typeof tool.annotations?.[hint], 'boolean', `annotations.${hint} is set`);
  }
  checkObjectSchema(tool.inputSchema, 'inputSchema');
  assert.equal(tool.inputSchema.additionalProperties, false, 'inputSchema.additionalProperties');
  checkParameters(tool.inputSchema);
  if (tool.outputSchema) assert.equal(tool.outputSchema.type, 'object', 'outputSchema.type');
}

// checkObjectSchema checks what model providers ask of the root of a schema:
// one that breaks it makes them refuse the whole request.
export function checkObjectSchema(schema, what) {
  assert.equal(schema?.type, 'object', `${what}.type`);
  assert.ok(!('$schema' in schema), `${what} has no $schema`);
  for (const word of COMBINATORS) assert.ok(!(word in schema), `${what} has no ${word} at its root`);
  const properties = Object.keys(schema.properties ?? {});
  for (const name of schema.required ?? []) {
    assert.ok(properties.includes(name), `${what}: required ${name} is a property`);
  }
}

function checkParameters(schema) {
  for (const [name, parameter] of Object.entries(schema.properties ?? {})) {
    assert.ok(parameter.description, `parameter ${name} has a description`);
    if ('default' in parameter) {
      assert.ok(!(schema.required ?? []).includes(name), `parameter ${name} has a default, so it is not required`);
    }
  }
}
