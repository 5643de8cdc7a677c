from .call import Watch as Watch, WhenAnswer as WhenAnswer, when as when
