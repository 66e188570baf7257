import { ADDRESSES } from './addresses.js'
import { CONTENT } from './content.js'
import type { Fixture } from './fixture.js'
import { POLITENESS } from './politeness.js'
import { REDIRECTS } from './redirects.js'
import { TRANSPORT } from './transport.js'
import { TRAPS } from './traps.js'

/** The whole corpus. A new part is a file beside this one and a line here. */
const PARTS: readonly (readonly Fixture[])[] = [TRANSPORT, REDIRECTS, ADDRESSES, POLITENESS, TRAPS, CONTENT]

export const CORPUS: readonly Fixture[] = PARTS.flat().sort((a, b) => a.number - b.number)
