import { readFileSync, writeFileSync } from 'node:fs'
import { recordSession } from './five-minutes.js'
import { SESSION_PAGE, withSession } from './five-minutes-page.js'

/** `npm run five-minutes`: prints the session; with --write it becomes the one of the documentation. */
const session = await recordSession((text) => console.log(text))
if (process.argv.includes('--write'))
  writeFileSync(SESSION_PAGE, withSession(readFileSync(SESSION_PAGE, 'utf8'), session))
