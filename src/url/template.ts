import { ShoalError } from '../errors.js'

/** Many URLs written as one: `https://shop.example/{de,fr}/page/{1..100}`. */
export interface UrlTemplate {
  /** Known before the first one is generated. */
  readonly count: number
  /** In a fixed order, the last braces change fastest; nothing is kept in memory. */
  urls(): Generator<string>
}

/** The values for a name in braces: what could be inside the braces, or a list. */
export type TemplateValues = Readonly<Record<string, string | readonly (string | number)[]>>

interface Choices {
  readonly count: number
  at(index: number): string
}

/**
 * `{1..100}` counts, `{001..100}` with leading zeros, `{0..500..20}` in steps, downwards too; `{a,b,c}` lists; `{name}` uses `values`. Several braces
 * give every combination.
 */
export function parseTemplate(template: string, values: TemplateValues = {}): UrlTemplate {
  const parts = template.split(/\{([^{}]*)\}/)
  const texts = parts.filter((_, index) => index % 2 === 0)
  if (texts.some((text) => /[{}]/.test(text))) throw wrong(template, 'its braces do not match')
  const inside = parts.filter((_, index) => index % 2 === 1)
  const unused = Object.keys(values).find((name) => !inside.includes(name))
  if (unused !== undefined) throw wrong(template, `there is no {${unused}} in it`)
  const choices = inside.map((text) => choicesOf(template, text, values))
  return {
    count: choices.reduce((product, { count }) => product * count, 1),
    *urls() {
      const at = choices.map(() => 0)
      for (;;) {
        yield texts.map((text, place) => text + (choices[place]?.at(at[place] ?? 0) ?? '')).join('')
        let place = choices.length - 1
        for (; place >= 0; place--) {
          const next = (at[place] ?? 0) + 1
          at[place] = next < (choices[place]?.count ?? 0) ? next : 0
          if (at[place] !== 0) break
        }
        if (place < 0) return
      }
    },
  }
}

export function isTemplate(text: string): boolean {
  return /\{[^{}]+\}/.test(text)
}

function choicesOf(template: string, text: string, values: TemplateValues): Choices {
  const given = Object.hasOwn(values, text) ? values[text] : undefined
  if (given !== undefined && typeof given !== 'string') {
    if (given.length === 0) throw wrong(template, `the list for {${text}} is empty`)
    return { count: given.length, at: (index) => String(given[index]) }
  }
  const written = given ?? text
  const range = /^(\d+)\.\.(\d+)(?:\.\.(\d+))?$/.exec(written)
  if (range !== null) return rangeOf(template, range[1] ?? '', range[2] ?? '', range[3] ?? '1')
  if (written.includes(',')) {
    const list = written.split(',')
    return { count: list.length, at: (index) => list[index] ?? '' }
  }
  throw wrong(template, `{${text}} is neither a range like {1..100} nor a list like {a,b}, and has no value`)
}

function rangeOf(template: string, first: string, last: string, stepped: string): Choices {
  const [from, to, step] = [Number(first), Number(last), Number(stepped)]
  if (![from, to, step].every(Number.isSafeInteger) || step === 0)
    throw wrong(template, `{${first}..${last}..${stepped}} is not a valid range`)
  const padded = [first, last].some((digits) => digits.length > 1 && digits.startsWith('0'))
  const width = padded ? Math.max(first.length, last.length) : 0
  const direction = from <= to ? step : -step
  return {
    count: Math.floor(Math.abs(to - from) / step) + 1,
    at: (index) => String(from + index * direction).padStart(width, '0'),
  }
}

function wrong(template: string, what: string): ShoalError {
  return new ShoalError('bad_template', `${template.slice(0, 200)}: ${what}`)
}
