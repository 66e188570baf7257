import type { Command } from 'commander'
import { CONFIG } from '../../config.js'
import { ShoalError } from '../../errors.js'
import { guide } from '../help.js'
import { acts, type CacheFlags, cacheOptions, plain, proxyOptions } from '../session.js'
import { type ArgFlags, argOption } from '../spider-choice.js'

interface ShellFlags extends CacheFlags, ArgFlags {
  readonly html?: string
  readonly allowPrivate?: readonly string[]
}

export function shellCommand(program: Command): void {
  const command = program
    .command('shell')
    .description('look at a page interactively: page, $, fields(…), links(…), fetch(…)')
    .argument('[spider]', 'spider file: its headers, proxies, session, routes and filter are used')
    .argument('[url]', 'page to begin with')
    .option('--html <file>', 'read this file instead of the site')
    .option('--allow-private <host:port...>', 'private addresses that may be fetched, such as 127.0.0.1:*')
    .action(
      acts(async (session, one: string | undefined, two: string | undefined, flags: ShellFlags) => {
        const { spider: file, url } = argumentsOf(one, two)
        const [{ runShell }, spider, cache] = await Promise.all([
          import('../shell/run-shell.js'),
          file === undefined
            ? null
            : import('../../spider/load.js').then(({ loadSpider }) => loadSpider(file, flags.arg)),
          session.openCache(flags),
        ])
        const { html, allowPrivate = [] } = flags
        if (spider === null && flags.arg !== undefined)
          throw new ShoalError('usage', '-a is for a spider, but none was given')
        if (spider !== null && allowPrivate.length > 0)
          throw new ShoalError('usage', '--allow-private is for pages without a spider', {
            hint: 'Set `allowPrivate` in the spider file.',
          })
        return runShell(session, { spider, url, html, allowPrivate, cache })
      }),
    )
  command.option(CONFIG.browser.flag, plain(CONFIG.browser.meaning))
  cacheOptions(proxyOptions(argOption(command)))
  guide(command, {
    examples: [
      ['shell https://books.example/', 'a prompt with that page'],
      ['shell books.ts https://books.example/ --cache', 'with the routes, proxies and session of a spider'],
      ['shell --html page.html', 'with a saved page'],
      [
        'echo "fields({ title: \'h1\' })" | shoal shell https://books.example/ --json',
        'without a terminal: one command per line',
      ],
    ],
    exitCodes: ['nothingFetched'],
  })
}

/** One argument is a URL or a spider; of two the first is the spider. */
function argumentsOf(one: string | undefined, two: string | undefined): { spider?: string; url?: string } {
  if (one === undefined) return {}
  if (!isUrl(one)) return { spider: one, ...(two !== undefined && { url: two }) }
  if (two === undefined) return { url: one }
  throw new ShoalError('usage', `${two} comes after the URL`, { hint: 'Write: shoal shell <spider> <url>' })
}

function isUrl(text: string): boolean {
  return /^https?:\/\//i.test(text)
}
