import { fileURLToPath } from 'node:url'

export const SESSION_PAGE = fileURLToPath(new URL('../../docs/first-spider.md', import.meta.url))

const SESSION = /(```console\n)([\s\S]*?)(```\n)/g

/** The commands of the page with their output, in order. */
export function sessionIn(page: string): string {
  return [...page.matchAll(SESSION)].map(([, , text = '']) => text).join('\n')
}

/** Each block of the page with what its commands print now: a block begins with a command of the session and has as many as before. */
export function withSession(page: string, session: string): string {
  const steps = session.split(/\n(?=\$ )/).map((step) => `${step.trimEnd()}\n`)
  return page.replace(SESSION, (_, open: string, text: string, close: string) => {
    const count = text.split(/\n(?=\$ )/).length
    return open + steps.splice(0, count).join('\n') + close
  })
}
