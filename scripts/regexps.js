// Every regular expression of a TypeScript file: literals, and those that are built from constants of the same file.
import { parseAst } from 'vite'

export function regexpsIn(text, file) {
  const program = parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' })
  const constants = new Map()
  visit(program, (node) => {
    if (node.type === 'VariableDeclarator' && node.id.type === 'Identifier' && node.init !== null)
      constants.set(node.id.name, node.init)
  })
  const found = []
  visit(program, (node) => {
    const regexp = isRegExpCall(node) ? built(node.arguments, constants) : literal(node)
    if (regexp === null) return
    found.push({
      ...regexp,
      line: text.slice(0, node.start).split('\n').length,
      code: text.slice(node.start, node.end),
    })
  })
  return found
}

function visit(node, see) {
  if (node === null || typeof node !== 'object' || node instanceof RegExp) return
  if (typeof node.type === 'string') see(node)
  for (const child of Object.values(node)) visit(child, see)
}

function literal(node) {
  return node.type === 'Literal' && node.regex !== undefined
    ? { pattern: node.regex.pattern, flags: node.regex.flags }
    : null
}

function isRegExpCall(node) {
  return (node.type === 'NewExpression' || node.type === 'CallExpression') && node.callee.name === 'RegExp'
}

function built([pattern, flags], constants) {
  const given = flags === undefined ? '' : textOf(flags, constants)
  return { pattern: typeof given === 'string' ? textOf(pattern, constants) : null, flags: given ?? '' }
}

/** The text that an expression stands for, if constants alone decide it; otherwise null. */
function textOf(node, constants) {
  switch (node?.type) {
    case 'Literal':
      return typeof node.value === 'string' ? node.value : null
    case 'TemplateLiteral':
      return template(node, 'cooked', constants)
    case 'TaggedTemplateExpression':
      return node.tag.property?.name === 'raw' ? template(node.quasi, 'raw', constants) : null
    case 'Identifier':
      return constants.has(node.name) ? textOf(constants.get(node.name), constants) : null
    case 'MemberExpression':
      return node.property.name === 'source' ? (literal(node.object)?.pattern ?? null) : null
    case 'CallExpression':
      return node.callee.property?.name === 'join' ? joinedList(node, constants) : null
    default:
      return null
  }
}

function template({ quasis, expressions }, spelling, constants) {
  const texts = quasis.flatMap(({ value }, nth) => [
    value[spelling],
    ...(nth < expressions.length ? [textOf(expressions[nth], constants)] : []),
  ])
  return joined(texts, '')
}

function joinedList({ callee, arguments: [separator] }, constants) {
  const list = callee.object.type === 'Identifier' ? constants.get(callee.object.name) : callee.object
  if (list?.type !== 'ArrayExpression') return null
  return joined(
    list.elements.map((element) => textOf(element, constants)),
    textOf(separator, constants) ?? ',',
  )
}

function joined(texts, separator) {
  return texts.includes(null) ? null : texts.join(separator)
}
