import type { Element } from 'hast'
import { toMdast } from 'hast-util-to-mdast'
import { gfmStrikethroughToMarkdown } from 'mdast-util-gfm-strikethrough'
import { gfmTableToMarkdown } from 'mdast-util-gfm-table'
import { toMarkdown } from 'mdast-util-to-markdown'

/** Loaded with the first page that becomes Markdown: 60 modules. Tables and strikethrough are those of GitHub. */
export function markdownOf(content: Element): string {
  const document = toMdast(content)
  if (document.type !== 'root') return ''
  return toMarkdown(document, {
    bullet: '-',
    rule: '-',
    listItemIndent: 'one',
    extensions: [gfmTableToMarkdown({ tablePipeAlign: false }), gfmStrikethroughToMarkdown()],
  })
}
