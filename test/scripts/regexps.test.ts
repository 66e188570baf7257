import { expect, it } from 'vitest'
import { regexpsIn } from '../../scripts/regexps.js'

function found(source: string, file = 'a.ts') {
  return regexpsIn(source, file).map(({ line, pattern, flags }) => [line, pattern, flags])
}

it('lists the regular expressions of a file', () => {
  expect(found('const a = /a+b/gi\nfunction f(x: string): boolean {\n  return /[/"]/.test(x)\n}')).toEqual([
    [1, 'a+b', 'gi'],
    [3, '[/"]', ''],
  ])
  expect(found('export const A = () => <a title="/x+/">{/y+/.test("")}</a>', 'a.tsx')).toEqual([[1, 'y+', '']])
})

it('knows what is built from constants', () => {
  const source = `const DAY = '\\\\d+'
    const WORDS = ['a', \`b\${DAY}\`]
    const TEXT = /"[^"]*"/.source
    export const ALL = [new RegExp(\`^(?:\${WORDS.join('|')})$\`, 'i'), RegExp(TEXT), new RegExp(['x', 'y'].join(''), 'u')]
    export const RAW = new RegExp(String.raw\`\\s\${DAY}\`)`
  expect(found(source)).toEqual([
    [3, '"[^"]*"', ''],
    [4, '^(?:a|b\\d+)$', 'i'],
    [4, '"[^"]*"', ''],
    [4, 'xy', 'u'],
    [5, '\\s\\d+', ''],
  ])
})

it('says so if only the running program knows it', () => {
  expect(
    found('export const f = (x: string, flags: string) => [new RegExp(x), new RegExp("a" + x), RegExp("a", flags)]'),
  ).toEqual([
    [1, null, ''],
    [1, null, ''],
    [1, null, ''],
  ])
})
