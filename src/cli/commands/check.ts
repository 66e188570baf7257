import type { Command } from 'commander'
import { EXIT } from '../../errors.js'
import { type CheckReport, isFailed } from '../../run/check/check-report.js'
import { guide } from '../help.js'
import { acts } from '../session.js'
import { type ArgFlags, argOption } from '../spider-choice.js'
import { showCheck, showCheckSummary } from '../views/check-view.js'

interface CheckFlags extends ArgFlags {
  readonly update: boolean
}

export function checkCommand(program: Command): void {
  const command = program
    .command('check')
    .description('validate spiders and run them over their saved pages (fixtures), without fetching anything')
    .argument('<spider...>', 'spider files; the saved pages of a spider are in the folder fixtures next to it')
    .option('--update', 'accept what the spiders make of their saved pages now', false)
    .action(
      acts(async (session, files: string[], { update, arg = {} }: CheckFlags) => {
        const { checkSpider } = await import('../../run/check/check-spider.js')
        const reports: CheckReport[] = []
        for (const file of files) {
          const report = await checkSpider(file, { args: arg, update, clock: session.clock })
          reports.push(report)
          if (!session.json) showCheck(session.output, report)
        }
        if (session.json) session.output.json({ spiders: reports })
        else showCheckSummary(session.output, reports)
        return exitCodeOf(reports)
      }),
    )
  argOption(command)
  guide(command, {
    examples: [
      ['check books.ts', 'is the definition valid, and does it still give the same records?'],
      ['check spiders/*.ts --json', 'the same for several spiders, for a CI job'],
      ['check books.ts --update', 'the new result is right: expect it from now on'],
    ],
    exitCodes: ['checkFailed'],
  })
}

function exitCodeOf(reports: readonly CheckReport[]): number {
  if (reports.some(({ error }) => error !== null)) return EXIT.spider.code
  return reports.some(({ fixtures }) => fixtures.some(isFailed)) ? EXIT.checkFailed.code : EXIT.ok.code
}
