const URL = 'https://a.example/p'
const nested = (levels: number, inner = '1') => `${'['.repeat(levels)}${inner}${']'.repeat(levels)}`
const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
const DEEP = /nested more than 500 levels/
const celery = (body: string, url = URL) =>
  JSON.stringify({
    body: Buffer.from(`[["${url}"],{"x":${body}},{}]`).toString('base64'),
    headers: { task: 't', id: 'i' },
    properties: { body_encoding: 'base64' },
  })

/** Entries that other programs may push: the data of the link that they become, or why they are refused. */
export const ENTRIES: readonly (readonly [
  name: string,
  text: string,
  expected: RegExp | { readonly data?: unknown },
])[] = [
  ['6,000 arrays', nested(6_000), DEEP],
  ['6,000 arrays around a URL', nested(6_000, `"${URL}"`), DEEP],
  ['100,000 arrays', nested(100_000), DEEP],
  ['6,000 arrays that do not end', '['.repeat(6_000), DEEP],
  ['6,000 arrays as data', `{"url":"${URL}","data":${nested(6_000)}}`, DEEP],
  ['6,000 objects as data', `{"url":"${URL}","data":${objects(6_000)}}`, DEEP],
  ['6,000 arrays under an unknown key', `{"url":"${URL}","x":${nested(6_000)}}`, DEEP],
  ['6,000 arrays as headers', `{"url":"${URL}","headers":${nested(6_000)}}`, DEEP],
  ['6,000 arrays instead of the URL', `{"url":${nested(6_000)}}`, DEEP],
  ['6,000 arrays in one of two items', `["${URL}",${nested(6_000)}]`, DEEP],
  ['501 arrays as data', `{"url":"${URL}","data":${nested(500)}}`, DEEP],
  ['499 arrays as data', `{"url":"${URL}","data":${nested(499)}}`, { data: JSON.parse(nested(499)) as unknown }],
  ['6,000 arrays in the body of a Celery task', celery(nested(6_000)), DEEP],
  ['6,000 arrays in a job that is text', JSON.stringify({ data: `{"url":"${URL}","x":${nested(6_000)}}` }), DEEP],
  [
    '6,000 arrays and a long number in a job that is text',
    JSON.stringify({ data: `{"url":"${URL}","x":${nested(6_000, '12345678901234567890')}}` }),
    /no url/,
  ],
  ['6,000 brackets in a string', `{"url":"${URL}","data":"${'['.repeat(6_000)}"}`, { data: '['.repeat(6_000) }],
  [
    'brackets behind an escaped quote',
    `{"url":"${URL}","data":"\\"${'['.repeat(600)}"}`,
    { data: `"${'['.repeat(600)}` },
  ],
  [
    'an id of 20 digits',
    `{"url":"${URL}","data":{"id":12345678901234567890}}`,
    { data: { id: '12345678901234567890' } },
  ],
  [
    'an id of 20 digits as a key of its own',
    `{"url":"${URL}","sku":12345678901234567891}`,
    { data: { sku: '12345678901234567891' } },
  ],
  [
    'an id of 20 digits in a task',
    `{"args":["${URL}"],"kwargs":{"id":12345678901234567892},"func":"f"}`,
    { data: { task: 'f', id: '12345678901234567892' } },
  ],
  [
    'an id of 20 digits in a Celery task',
    celery('12345678901234567893'),
    { data: { task: 't', id: 'i', x: '12345678901234567893' } },
  ],
  ['a number that overflows', `{"url":"${URL}","data":{"n":1e400,"m":-1e400}}`, { data: { n: '1e400', m: '-1e400' } }],
  [
    'the same key twice',
    `{"url":"${URL}","data":{"id":1,"id":12345678901234567890}}`,
    { data: { id: '12345678901234567890' } },
  ],
  ['a priority that overflows', `{"url":"${URL}","priority":1e400}`, { data: { priority: '1e400' } }],
  [
    'a prototype',
    `{"url":"${URL}","data":{"__proto__":{"polluted":1},"n":12345678901234567890}}`,
    { data: JSON.parse('{"__proto__":{"polluted":1},"n":"12345678901234567890"}') as unknown },
  ],
  ['a lone surrogate', `{"url":"${URL}","data":"\\ud800"}`, { data: '\ud800' }],
  ['a NUL', `{"url":"${URL}","data":"\\u0000"}`, { data: '\0' }],
  ['NaN', `{"url":"${URL}","data":NaN}`, /not JSON/],
  ['a comma too many', `{"url":"${URL}","data":12345678901234567890,}`, /not JSON/],
  ['a byte order mark', `\uFEFF{"url":"${URL}"}`, {}],
  ['JSON in JSON in JSON', JSON.stringify(JSON.stringify(JSON.stringify({ url: URL }))), /not a URL|no url/i],
  ['256 KiB and a byte', `{"url":"${URL}","data":"${'x'.repeat(256 * 1024)}"}`, /bytes are more than 262144/],
  [
    '130,000 empty arrays',
    `{"url":"${URL}","data":[${Array(80_000).fill('[]').join(',')}]}`,
    { data: Array(80_000).fill([]) },
  ],
  ['a million digits', `{"url":"${URL}","data":${'9'.repeat(200_000)}}`, { data: '9'.repeat(200_000) }],
  ['a line too deep among others', `{"url":"${URL}"}\n${nested(6_000)}`, DEEP],
]
