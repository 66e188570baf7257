import type { ChildNode, Document, Element, ParentNode } from 'domhandler'

/** Elements below this depth become siblings of the last one that may be there; their text stays in them. */
export function flattenBelow(root: Document, depth: number): void {
  let level: readonly ParentNode[] = [root]
  for (let at = 1; at <= depth && level.length > 0; at++) level = level.flatMap(elementsIn)
  for (const parent of level) flatten(parent)
}

function flatten(parent: ParentNode): void {
  const children: ChildNode[] = []
  const left = parent.children.toReversed()
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    children.push(node)
    const inside = 'attribs' in node ? elementsIn(node) : []
    if (inside.length === 0 || !('attribs' in node)) continue
    adopt(
      node,
      node.children.filter((child) => !('attribs' in child)),
    )
    left.push(...inside.toReversed())
  }
  if (children.length > parent.children.length) adopt(parent, children)
}

function elementsIn({ children }: ParentNode): Element[] {
  return children.filter((child): child is Element => 'attribs' in child)
}

function adopt(parent: ParentNode, children: ChildNode[]): void {
  parent.children = children
  for (const [n, child] of children.entries()) {
    child.parent = parent
    child.prev = children[n - 1] ?? null
    child.next = children[n + 1] ?? null
  }
}
