import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { recordSession } from './five-minutes.js'
import { SESSION_PAGE, sessionIn, withSession } from './five-minutes-page.js'

it('the session of docs/first-spider.md is what the commands print (npm run five-minutes -- --write)', async () => {
  const session = await recordSession()
  const page = readFileSync(SESSION_PAGE, 'utf8')
  expect(sessionIn(page)).toBe(sessionIn(withSession(page, session)))
  // What the page promises, whatever it says.
  expect(session).toMatch(/price.*no match\n.*\n\s+did you mean `\.price_color`\?/)
  expect(session).toContain('12 records written to books.csv')
  expect(session).toMatch(/pass 2\n.*fail 0/)
}, 120_000)
