import type { AnyNode, ChildNode, Document, Element } from 'domhandler'
import { contentsOf } from '../../../../src/spider/html/tree-adapter.js'

const PREFIXES: ReadonlyMap<string | undefined, string> = new Map([
  ['http://www.w3.org/2000/svg', 'svg '],
  ['http://www.w3.org/1998/Math/MathML', 'math '],
])

/** The format of html5lib. Names of svg are in lower case, as in Shoal's tree; `normalized()` does the same to what is expected. */
export function dumpTree(root: Document): string {
  return root.children.flatMap((node) => lines(node, 0)).join('\n')
}

/** The names of elements of svg in lower case. */
export function normalized(expected: string): string {
  return expected.replace(/^(\| *<svg )(\S+)>$/gm, (_, start: string, name: string) => `${start}${name.toLowerCase()}>`)
}

function lines(node: ChildNode, depth: number): string[] {
  const line = (text: string, deeper = 0): string => `| ${'  '.repeat(depth + deeper)}${text}`
  if (node.type === 'text') return [line(`"${node.data}"`)]
  if (node.type === 'comment') return [line(`<!-- ${node.data} -->`)]
  if (node.type === 'directive') return [line(doctype(node))]
  if (!('attribs' in node)) return []
  const contents = contentsOf(node.children)
  return [
    line(`<${PREFIXES.get(node.namespace) ?? ''}${node.name}>`),
    ...attributes(node).map((attribute) => line(attribute, 1)),
    ...(contents === undefined
      ? []
      : [line('content', 1), ...contents.children.flatMap((child) => lines(child, depth + 2))]),
    ...node.children.flatMap((child) => lines(child, depth + 1)),
  ]
}

function attributes({ attribs, namespace }: Element): string[] {
  return Object.entries(attribs)
    .map(
      ([name, value]) => [PREFIXES.has(namespace) ? name.replace(/^(xlink|xml|xmlns):/, '$1 ') : name, value] as const,
    )
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}="${value}"`)
}

function doctype(node: AnyNode & { readonly 'x-name'?: string; 'x-publicId'?: string; 'x-systemId'?: string }): string {
  const { 'x-name': name = '', 'x-publicId': publicId = '', 'x-systemId': systemId = '' } = node
  return publicId === '' && systemId === '' ? `<!DOCTYPE ${name}>` : `<!DOCTYPE ${name} "${publicId}" "${systemId}">`
}
