/** The page of the look of the customers' portal: the same name wherever a link leads there. */

export const LOOK_PATH = '/settings/customers-portal';

export const LOOK_TITLE = 'Look of the customers’ portal';
