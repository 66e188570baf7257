import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { ShoalError } from '../../errors.js'
import { makeDirs } from '../../make-dirs.js'
import { guide } from '../help.js'
import { GITIGNORE, SPIDER } from '../init-templates.js'
import { acts, programName, shellWord } from '../session.js'
import { printNextSteps } from '../views/summary-view.js'

export function initCommand(program: Command): void {
  const command = program
    .command('init')
    .description('create a first spider')
    .argument('[dir]', 'target folder', '.')
    .action(
      acts(async (session, dir: string) => {
        const file = join(dir, 'books.ts')
        if (existsSync(file))
          throw new ShoalError('usage', `${file} already exists`, {
            hint: 'Choose another folder: `shoal init <dir>`.',
          })
        const written = [file]
        try {
          makeDirs(dir)
          writeFileSync(file, SPIDER, { flag: 'wx' })
          const ignore = join(dir, '.gitignore')
          if (!existsSync(ignore)) {
            writeFileSync(ignore, GITIGNORE)
            written.push(ignore)
          }
        } catch (error) {
          throw new ShoalError(
            'out_unwritable',
            `${dir} is not writable (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
            { cause: error },
          )
        }
        if (session.json) session.output.json({ dir, files: written })
        else {
          for (const one of written) session.output.print(`created ${one}`)
          const shoal = programName(process.env)
          const spider = shellWord(file)
          printNextSteps(session.output, 'Next:', [
            [
              `${shoal} try ${spider} https://books.toscrape.com/`,
              'try one page: its route, records and links; nothing is stored',
            ],
            [`${shoal} run ${spider}`, 'run the crawl; Ctrl-C stops it, the same command resumes it'],
            [`${shoal} export --out books.csv`, 'export the records as a table'],
          ])
        }
      }),
    )
  guide(command, { examples: [['init my-spiders', 'my-spiders/books.ts, with every part explained']] })
}
