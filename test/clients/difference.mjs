// What differs between two JSON values: the path, and both values.

export function differences(want, got, path = '') {
  if (Object.is(want, got)) return [];
  const both = [want, got];
  const kinds = both.map((value) => (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value));
  if (kinds[0] !== kinds[1] || !['array', 'object'].includes(kinds[0])) return [`${path || '(all)'}: ${show(want)} directly, ${show(got)} through toolserver`];
  const keys = new Set(both.flatMap(Object.keys));
  return [...keys].flatMap((key) => differences(want[key], got[key], kinds[0] === 'array' ? `${path}[${key}]` : `${path}.${key}`));
}

function show(value) {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)} ... (${text.length} characters)` : text;
}

// same throws if two values differ, and names each difference.
export function same(want, got) {
  const found = differences(want, got);
  if (found.length > 0) throw new Error(found.join('\n'));
}
