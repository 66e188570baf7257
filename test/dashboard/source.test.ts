import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const SRC = fileURLToPath(new URL('../../dashboard/src', import.meta.url))
const SOURCES = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => ({ name, text: readFileSync(join(SRC, name), 'utf8') }))

it('takes nothing but types from the other side of the API', () => {
  for (const { name, text } of SOURCES) {
    const imports = [...text.matchAll(/^(?:import|export) (type )?[^;]*?from '([^']+)'/gm)]
    const code = imports.filter(([, type, from = '']) => type === undefined && /(^|\/)src\//.test(from))
    expect(
      code.map(([line]) => line),
      name,
    ).toEqual([])
  }
})

it('makes no markup and no code out of text, and leads outside in one place only', () => {
  for (const { name, text } of SOURCES) {
    expect(text, name).not.toMatch(
      /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|\beval\(|new Function/,
    )
    if (name.endsWith('text.tsx')) continue
    expect(text, name).not.toMatch(/target="_blank"|window\.open/)
  }
})
