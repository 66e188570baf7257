/** Selectors as other tools write them, and what they are here. */
export interface ForeignSelector {
  /** What is wrong with it. */
  readonly reason: string
  /** The same as a selector of Shoal; null: nobody knows. */
  readonly here: string | null
}

const XPATH = /^(?:(?:\(+\s*)?\.?\/|\.\.|(?:descendant|ancestor|child|following|preceding|self)(?:-[a-z-]+)?::)/
const PREFIX = /^\s*(css|xpath)\s*[:=]\s*(?=\S)/i
const TEXT = /::text\b/
const ATTR = /::attr\(\s*([\w:.-]+)\s*\)/

/** Null: nothing in it is known from elsewhere. */
export function foreignSelector(source: string): ForeignSelector | null {
  const prefix = PREFIX.exec(source)
  if (prefix !== null) {
    const rest = source.slice(prefix[0].length)
    const isXpath = prefix[1]?.toLowerCase() === 'xpath'
    if (!isXpath) return { reason: `a selector has no prefix`, here: foreignSelector(rest)?.here ?? rest }
    return { reason: 'XPath is not supported', here: cssOfXpath(rest) }
  }
  if (XPATH.test(source.trimStart())) return { reason: 'XPath is not supported', here: cssOfXpath(source) }
  const [attr, name] = ATTR.exec(source) ?? []
  if (attr !== undefined)
    return { reason: `Scrapy's ${attr} is written @${name}`, here: withAttribute(source, name ?? '') }
  if (TEXT.test(source))
    return {
      reason: "Scrapy's ::text is not needed: text is the default",
      here: plainCss(source.replaceAll('::text', '')),
    }
  return null
}

/** `a::attr(href), b::attr(href)` is `a, b@href`: an attribute belongs to the whole selector. */
function withAttribute(source: string, name: string): string | null {
  const alternatives = source
    .split(',')
    .map((one) => ({ css: one.replace(ATTR, '').trim(), name: ATTR.exec(one)?.[1] }))
  if (alternatives.some((one) => one.name !== name)) return null
  const css = plainCss(alternatives.map((one) => one.css || '*').join(', '))
  return css === null ? null : `${css}@${name}`
}

function plainCss(css: string): string | null {
  return css.includes('::') ? null : css.trim() || null
}

const STEP = /^(\/\/?)(\*|[A-Za-z][\w-]*)((?:\[[^[\]]*\])*)/

/** For the simple cases, which are most of what people write: steps down, classes, ids, attributes and positions. */
function cssOfXpath(source: string): string | null {
  let rest = source.trim().replace(/^\.(?=\/)/, '')
  let css = ''
  while (rest !== '') {
    const attribute = /^\/@([\w:.-]+)$/.exec(rest)
    if (attribute !== null && css !== '') return `${css}@${attribute[1]}`
    if (/^\/{1,2}text\(\)$/.test(rest) && css !== '') return css
    const step = STEP.exec(rest)
    if (step === null) return null
    const [whole, slashes, tag = '', conditions = ''] = step
    const tests = [...conditions.matchAll(/\[([^[\]]*)\]/g)].map(([, condition = '']) =>
      cssOfCondition(condition.trim()),
    )
    if (tests.includes(null)) return null
    const compound = `${tag === '*' && tests.length > 0 ? '' : tag}${tests.join('')}`
    css = css === '' ? compound : `${css}${slashes === '/' ? ' > ' : ' '}${compound}`
    rest = rest.slice(whole.length)
  }
  return css === '' ? null : css
}

function cssOfCondition(condition: string): string | null {
  if (/^\d+$/.test(condition)) return `:nth-of-type(${condition})`
  const [, exists] = /^@([\w:.-]+)$/.exec(condition) ?? []
  if (exists !== undefined) return `[${exists}]`
  const [, name, value] = /^@([\w:.-]+)\s*=\s*["']([^"']*)["']$/.exec(condition) ?? []
  if (name !== undefined && value !== undefined) return cssOfAttribute(name, value)
  const [, within, part] = /^contains\(\s*@([\w:.-]+)\s*,\s*["']([^"']*)["']\s*\)$/.exec(condition) ?? []
  if (within === undefined || part === undefined) return null
  return within === 'class' && isName(part) ? `.${part}` : `[${within}*="${part}"]`
}

function cssOfAttribute(name: string, value: string): string {
  const names = value.trim().split(/\s+/)
  if (name === 'class' && names.every(isName)) return names.map((one) => `.${one}`).join('')
  return name === 'id' && isName(value) ? `#${value}` : `[${name}="${value}"]`
}

function isName(text: string): boolean {
  return /^[A-Za-z_][\w-]*$/.test(text)
}
